"""separatrix search: the choice of the penalty by cross-validation."""

from typing import Annotated, Any

import typer

from separatrix.cli.clusters import Dask, connect_to
from separatrix.cli.command_decorator import INTERRUPTED, NOT_CONVERGED, CommonOptions, command
from separatrix.cli.commands.fit import code_of, report_metrics, report_verdict
from separatrix.cli.option_values import numbers
from separatrix.cli.options import (
    Memory,
    Out,
    PreparationOptions,
    ReadingOptions,
    SourceArgument,
    TrainingOptions,
)
from separatrix.cli.output import Output
from separatrix.cli.progress import show_fit_progress, show_proof_progress
from separatrix.cli.reading import read_source
from separatrix.cli.reports import (
    Report,
    WithReport,
    made_by,
    python_of_model,
    report_path,
    worded,
    write_page,
)
from separatrix.cli.writing import check_out, try_to_write
from separatrix.workflow.search.search_scorers import SCORINGS

_MODEL = "Model"


@command
def search(
    output: Output,
    source: SourceArgument,
    reading: ReadingOptions,
    preparing: PreparationOptions,
    training: TrainingOptions,
    common: CommonOptions,
    C: Annotated[
        str | None,
        typer.Option(
            "--C",
            metavar="X,...",
            help="Inverse strengths of the penalty to try (default: 0.01,0.1,1,10,100), or with "
            "--certify the ends of an interval (default: 0.001,1000).",
            rich_help_panel=_MODEL,
        ),
    ] = None,
    l1: Annotated[
        str | None,
        typer.Option(
            metavar="X,...",
            help="Shares of L1 in the penalty to try, from 0 to 1 (default: 0).",
            rich_help_panel=_MODEL,
        ),
    ] = None,
    folds: Annotated[
        int,
        typer.Option(
            min=2, metavar="N", help="Number of stratified folds.", rich_help_panel=_MODEL
        ),
    ] = 5,
    scoring: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help=f"Score to maximise: {', '.join(SCORINGS)}.",
            rich_help_panel=_MODEL,
        ),
    ] = "accuracy",
    certify: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Search a whole interval of C, and prove that no C is better by more than X, such "
            "as 0.005. Needs the score accuracy or neg_log_loss.",
            rich_help_panel=_MODEL,
        ),
    ] = None,
    memory: Memory = None,
    dask: Dask = None,
    out: Out = None,
    report: Report = None,
) -> int:
    """Choose the penalty by cross-validation, and evaluate the chosen model.

    [b]separatrix search iris[/b]
    [b]separatrix search a5a --model svm --bias penalised --folds 3[/b]
    [b]separatrix search mail.csv --C 0.1,1,10 --l1 0,0.5,1 --out mail.sx[/b]
    [b]separatrix search breast-cancer --certify 0.01[/b]
    [b]separatrix search iris --report[/b]         with a page for the browser

    The folds are made from the training and validation rows, and all candidates are trained on all
    folds together. If each fold has its own words, categories or replacements for missing values,
    the folds are trained one after the other. The best candidate is then trained on all of these
    rows and evaluated on the test rows.
    """
    from separatrix.workflow.model_families import DEFAULT_TOL
    from separatrix.workflow.search.searching import DEFAULT_CS, search_source

    check_out(out, source, *reading.files())
    page = report_path(report, source, "search")
    Cs = None if C is None else numbers("C", C)
    l1s = None if l1 is None else numbers("l1", l1)
    split = preparing.shares()
    reads = {"seed": common.seed, "split": split, "memory": memory, **reading.options()}
    cluster = connect_to(dask)
    loaded = read_source(output, source, **reads)
    options = training.options(common.seed)
    chosen: dict[str, Any] = {"Cs": Cs, "l1s": l1s, "folds": folds, "scoring": scoring}
    chosen["cluster"] = cluster
    settings = preparing.settings(loaded.table)
    if certify is None:
        count = len(Cs or DEFAULT_CS) * len(l1s or [0]) * folds + 1  # the chosen one, on all rows
        tol = training.tol or DEFAULT_TOL
        with show_fit_progress(output, "Fitting", tol, count, "fits") as progress:
            found = search_source(
                loaded, training.model, options, settings, **chosen, on_progress=progress
            )
    else:
        chosen["certify"] = certify
        with show_proof_progress(output) as proof:
            found = search_source(
                loaded, training.model, options, settings, **chosen, on_proof=proof
            )
    if found.bundle is None:
        output.print_json(found.facts | {"out": None, "report": None})
        _report_interrupted(output, found.facts)
        return INTERRUPTED
    failed = try_to_write(out, found.bundle.save)
    given = [*([] if C is None else ["--C", C]), *([] if l1 is None else ["--l1", l1])]
    given += [] if folds == 5 else ["--folds", str(folds)]
    given += [] if scoring == "accuracy" else ["--scoring", scoring]
    given += [] if dask is None else ["--dask", dask]
    given += [] if certify is None else ["--certify", f"{certify:g}"]
    made = made_by(
        "search",
        [source, *given],
        common.seed,
        [reading, preparing, training],
    )
    part = list(found.facts["metrics"])[-1]
    made["python"] = python_of_model(made["command"], out, source, reads, part)

    def draw() -> dict[str, Any]:
        from separatrix.web.search_page import search_page
        from separatrix.workflow.pictures.model_pictures import picture_model

        assert found.bundle is not None
        return search_page(worded(found.facts), picture_model(found.bundle, loaded), made)

    unwritten = write_page(page, "search_page", f"{loaded.name}, search", draw)
    facts = found.facts | {
        "out": None if out is None or failed else str(out),
        "report": None if page is None or unwritten else str(page),
    }
    output.print_json(facts)
    if output.for_people:
        _report(output, facts)
    if error := failed or unwritten:
        raise error
    return code_of(facts["verdict"]) or (NOT_CONVERGED if facts["warnings"] else 0)


search.parsed_as = WithReport  # type: ignore[attr-defined]


def _report(output: Output, facts: dict[str, Any]) -> None:
    from rich.text import Text

    from separatrix.cli import tables
    from separatrix.cli.option_names import name_options

    output.say(tables.heading(facts["source"]))
    output.say(tables.notes(facts["notes"]))
    about = facts["model"]["about"]
    objective = f"for the best candidate, {facts['model']['objective']}"
    output.say(tables.named([("Model", about), ("Objective", objective)]))
    if facts["certified"] is None:
        output.say(_table(facts))
        output.say(f"Best by {facts['folds']}-fold cross-validation: {_words(facts['best'])}.")
        if facts["ties"]:
            tied = " and ".join(map(_words, facts["ties"]))
            output.say(f"The same mean {facts['scoring']} (○): {tied}. The first in the grid wins.")
    else:
        for sentence in facts["certified"]["sentences"]:
            output.say(sentence)
    output.say("Trained on all training and validation rows:\n")
    report_metrics(output, facts["metrics"])
    if facts["batches"] is not None:
        fits = facts["folds"] * len(facts["candidates"])
        batches = tables.counted(facts["batches"], "batch", "batches")
        passes = tables.counted(round(facts["passes"]), "pass", "passes")
        output.say(
            f"The {fits} fits of the cross-validation took {batches} and {passes} over the data.\n"
        )
    for warning in facts["warnings"]:
        output.say(Text(name_options(warning), "red"))
    if facts["advice"]:
        output.say(Text(facts["advice"], "bold"))
    report_verdict(output, facts)


def _report_interrupted(output: Output, facts: dict[str, Any]) -> None:
    """Print the results of the folds that were completed, or what is proven."""
    if facts["certified"] is not None:
        told = " ".join(facts["certified"]["sentences"])
        output.error(f"Interrupted. {told} No model was trained on all rows, and none was saved.")
        return
    if output.for_people:
        from separatrix.cli import tables

        output.say(tables.heading(facts["source"]))
        output.say(tables.notes(facts["notes"]))
        output.say(tables.named([("Model", facts["model"]["about"])]))
        output.say(_table(facts))
    done = sum(candidate["folds_done"] for candidate in facts["candidates"])
    count = facts["folds"] * len(facts["candidates"])
    best = "No candidate has completed all folds."
    if facts["best"]:
        best = f"Best of the candidates that completed all folds: {_words(facts['best'])}."
    output.error(
        f"Interrupted: {done} of {count} fits of the cross-validation were completed. {best} No "
        "model was trained on all rows, and none was saved."
    )


def _table(facts: dict[str, Any]) -> Any:
    """Return the table of candidates; after an interrupt, with the number of completed folds."""
    from rich.text import Text

    from separatrix.cli import tables

    names = list(facts["candidates"][0]["parameters"])
    others = [*names[1:], f"mean {facts['scoring']}", "2 x std. dev."]
    others += ["folds done"] if facts["interrupted"] else []
    table = tables.plain_table(f"  {names[0]}", others)
    for candidate in facts["candidates"]:
        chosen = candidate["parameters"] == facts["best"]
        tied = candidate["parameters"] in facts["ties"]
        first, *rest = (f"{candidate['parameters'][name]:g}" for name in names)
        scores = [
            "–" if candidate[key] is None else f"{candidate[key]:.5f}"
            for key in ("mean", "two_deviations")
        ]
        if facts["interrupted"]:
            scores.append(f"{candidate['folds_done']} of {facts['folds']}")
        mark = "●" if chosen else "○" if tied else " "
        style = "bold green" if chosen else ""
        table.add_row(*(Text(cell, style) for cell in [f"{mark} {first}", *rest, *scores]))
    return tables.spaced(table)


def _words(parameters: dict[str, float]) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in parameters.items())
