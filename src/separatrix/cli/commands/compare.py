"""separatrix compare: all models on one source."""

from typing import Any

from separatrix.cli.command_decorator import INTERRUPTED, CommonOptions, command
from separatrix.cli.commands.fit import report_written
from separatrix.cli.options import (
    DescentOptions,
    PenaltyOptions,
    PreparationOptions,
    ReadingOptions,
    SourceArgument,
    TrainingOptions,
)
from separatrix.cli.output import Output
from separatrix.cli.progress import show_fit_progress
from separatrix.cli.reading import read_source
from separatrix.cli.reports import (
    Report,
    WithReport,
    made_by,
    report_path,
    worded,
    write_page,
)


@command
def compare(
    output: Output,
    source: SourceArgument,
    reading: ReadingOptions,
    preparing: PreparationOptions,
    training: TrainingOptions,
    penalty: PenaltyOptions,
    descending: DescentOptions,
    common: CommonOptions,
    report: Report = None,
) -> int:
    """Train all models and scikit-learn's Naive Bayes on the same rows, and compare them.

    [b]separatrix compare iris[/b]
    [b]separatrix compare mail.csv --C 10[/b]
    [b]separatrix compare iris --report[/b]        with a page for the browser

    Each option applies only to the models that support it. With --model, only that model and Naive
    Bayes are compared, and the model must have every option that is given. The best model is chosen
    on the validation rows, and the models that are as good are listed.
    """
    from separatrix.workflow.comparing import BASELINE, compare_families, families_for
    from separatrix.workflow.model_families import DEFAULT_TOL
    from separatrix.workflow.preparing import prepare_source

    page = report_path(report, source, "compare")
    options = training.options(common.seed, C=penalty.C, l1=penalty.l1)
    descent = descending.options(training.solver)
    split = preparing.shares()
    reads = {"seed": common.seed, "split": split, **reading.options()}
    loaded = read_source(output, source, **reads)
    with output.spinner("Preparing"):
        prepared = prepare_source(loaded, preparing.settings(loaded.table))
    is_given = training.model != "auto"
    chosen = [training.model] if is_given else families_for(prepared.n_classes)
    done: list[dict[str, Any]] = []
    interrupted = False
    for name in dict.fromkeys([*chosen, BASELINE]):
        try:
            with show_fit_progress(output, name, training.tol or DEFAULT_TOL) as progress:
                done += compare_families(
                    prepared,
                    options,
                    [name],
                    progress,
                    descent,
                    strict=is_given and name in chosen,
                )
            interrupted = progress.asked
        except KeyboardInterrupt:
            interrupted = True
        if interrupted:
            break
    facts: dict[str, Any] = {
        "source": {
            "name": loaded.name,
            "rows": len(loaded),
            "features": len(prepared.preparation.feature_names_out),
            "classes": sorted(set(loaded.y.tolist())),
            "fingerprint": loaded.fingerprint,
        },
        "notes": prepared.notes,
        "models": [{k: v for k, v in row.items() if k != "validation"} for row in done],
    }
    facts |= _judge(done)
    made = made_by(
        "compare",
        [source],
        common.seed,
        [reading, preparing, training, penalty, descending],
    )

    def draw() -> dict[str, Any]:
        from separatrix.web.comparison_page import comparison_page

        return comparison_page(worded(facts), made)

    unwritten = write_page(page, "comparison_page", f"{loaded.name}, compare", draw)
    facts["report"] = None if page is None or unwritten else str(page)
    output.print_json(facts)
    if output.for_people:
        _report(output, facts)
        report_written(output, facts)
    if unwritten:
        raise unwritten
    if interrupted:
        output.error("Interrupted: the table shows the models that were trained before.")
    return INTERRUPTED if interrupted else 0


compare.parsed_as = WithReport  # type: ignore[attr-defined]


def _judge(done: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the best model, the models that are as good, and the sentences that say so."""
    from separatrix.study.results.model_comparison import judge_models

    usable = [row for row in done if row["validation"] is not None and not _interrupted(row)]
    return judge_models(
        {row["model"]: row["validation"] for row in usable},
        [row["model"] for row in usable if row["verdict"] and not row["verdict"]["converged"]],
    )


def _report(output: Output, facts: dict[str, Any]) -> None:
    from rich.text import Text

    from separatrix.cli import tables
    from separatrix.cli.option_names import name_options
    from separatrix.study.results.facts import standardisation_words

    output.say(tables.heading(facts["source"]))
    output.say(tables.notes(facts["notes"]))
    columns = ["train", "validation", "test", "log-loss", "seconds", "gap"]
    table = tables.plain_table("  model", columns)
    # The part that decides; without validation rows nothing does.
    part_of_loss = "test" if facts["best"] is None else "validation"
    for row in facts["models"]:
        best = row["model"] == facts["best"]
        best = best or row["model"] in facts["ties"]
        mark = "●" if best else "○" if row["model"] in facts["as_good"] else " "
        found = row["metrics"]
        cells = [f"{mark} {row['model']}"]
        for part in ("train", "validation", "test"):
            cells.append(tables.share(found[part]["accuracy"]) if part in found else "–")
        cells.append(tables.number(found.get(part_of_loss, {}).get("log_loss")))
        cells.append("–" if row["seconds"] is None else f"{row['seconds']:.2f}")
        cells.append(_gap(row))
        table.add_row(*(Text(cell, "bold green" if best else "") for cell in cells))
    output.say(tables.spaced(table))
    sentences = [
        standardisation_words(facts["notes"]),
        f"Accuracy on each part; log-loss on the {part_of_loss} rows; gap: relative duality gap.",
        *(f"{row['model']} is {row['about']}." for row in facts["models"] if not row["verdict"]),
        *(name_options(note) for row in facts["models"] for note in row["notes"]),
    ]
    rates = [row for row in facts["models"] if row.get("learning_rate")]
    if rates:
        shown = ", ".join(f"{row['model']} {row['learning_rate']:g}" for row in rates)
        sentences.append(f"Learning rates: {shown}.")
    for sentence in [*facts["comparison"], *sentences]:
        output.say(sentence)


def _interrupted(row: dict[str, Any]) -> bool:
    return row["verdict"] is not None and row["verdict"]["stop_reason"] == "interrupted"


def _gap(row: dict[str, Any]) -> str:
    """Return the relative duality gap, or words about a fit without one."""
    verdict = row["verdict"]
    if verdict is None:
        return str(row.get("problem", "closed form"))
    if _interrupted(row):
        return "interrupted"
    if not verdict["converged"]:
        return "not converged"
    certificate = verdict["certificate"]
    gap = None if certificate is None else certificate["relative_gap"]
    return "converged" if gap is None else f"{gap:.0e}"
