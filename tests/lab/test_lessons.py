"""Lessons are read from Markdown, and their settings are those of the playground."""

import re
from urllib.parse import parse_qsl

import pytest

from separatrix.lab.lessons import BUILT_IN, read_lessons

STEP = "## One\n\nSettings: #data=moons\n\nQuestion: q?\n\nLook at: l\n\nAnswer: a\n\nmore\n"


def test_a_lesson_has_a_title_an_introduction_and_steps(tmp_path):
    (tmp_path / "b.md").write_text(f"# B\n\nintro\nduction\n\n{STEP}\n{STEP}")
    (tmp_path / "a.md").write_text(f"# A\n{STEP}")
    a, b = read_lessons(tmp_path)
    assert (a.name, a.title, a.introduction) == ("a", "A", ())
    assert b.introduction == ("intro duction",)
    assert [step.answer for step in b.steps] == ["a\nmore"] * 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("no heading", "needs a title"),
        ("# T\n\n## One\n\nSettings: #a\n", "lacks 'Question:'"),
        (f"# T\n\n{STEP.replace('#data', 'data')}", "must begin with '#'"),
        ("# T\n\n## One\n\nwords first\n", "line 5: a paragraph of a step begins with"),
        (f"# T\n\n{STEP}\nAnswer: again", "two parts 'Answer:'"),
    ],
)
def test_a_wrong_lesson_is_refused_with_its_line(tmp_path, text, words):
    (tmp_path / "wrong.md").write_text(text)
    with pytest.raises(ValueError, match=re.escape(words)):
        read_lessons(tmp_path)


def test_a_folder_without_lessons_is_refused(tmp_path):
    with pytest.raises(ValueError, match="has no lessons"):
        read_lessons(tmp_path)
    with pytest.raises(ValueError, match="no folder"):
        read_lessons(tmp_path / "missing")


def test_the_settings_of_built_in_lessons_are_known_to_the_playground():
    script = (BUILT_IN.parent / "scripts" / "playground" / "settings.js").read_text()
    defaults = script[script.index("DEFAULTS = {") : script.index("};")]
    known = set(re.findall(r"(\w+):", defaults))
    for lesson in read_lessons():
        for step in lesson.steps:
            used = {name for name, _ in parse_qsl(step.settings[1:], keep_blank_values=True)}
            assert used <= known, (lesson.name, step.title, used - known)
