"""separatrix study: a grid of configurations, trained together and judged."""

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from separatrix.cli.command_decorator import INTERRUPTED, NOT_CONVERGED, Common, verb
from separatrix.cli.grid_options import GRID_OPTIONS, Sweep, given_options, words_of
from separatrix.cli.options import Preparing, Reading, SourceArgument
from separatrix.cli.output import Screen
from separatrix.cli.reading import read_source
from separatrix.cli.study_progress import watching_study
from separatrix.cli.writing import written

_STUDY = "Study"

StoreOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="The file of the studies (SEPARATRIX_STORE, or separatrix.db here).",
        rich_help_panel=_STUDY,
    ),
]


@dataclass
class Keeping:
    """Where a study is kept, and how."""

    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Of the study (the source's).", rich_help_panel=_STUDY),
    ] = None
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on with this study where it ended; begin it if there is none.",
            rich_help_panel=_STUDY,
        ),
    ] = False
    store: StoreOption = None
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The page to write (reports/NAME.html).",
            rich_help_panel=_STUDY,
        ),
    ] = None
    no_report: Annotated[
        bool, typer.Option("--no-report", help="Write no page.", rich_help_panel=_STUDY)
    ] = False
    memory: Annotated[
        float,
        typer.Option(
            min=0.001, metavar="GB", help="Of the models of a batch.", rich_help_panel=_STUDY
        ),
    ] = 1.0
    log: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv", help="Append every epoch to this file.", rich_help_panel=_STUDY
        ),
    ] = None
    mlflow: Annotated[
        str | None,
        typer.Option(
            metavar="URI", help="Send every epoch to this MLflow server.", rich_help_panel=_STUDY
        ),
    ] = None

    def logs(self) -> list[Any]:
        """The logs that were asked for."""
        from separatrix.study import CsvLog, MlflowLog

        files = [] if self.log is None else [CsvLog(self.log)]
        return [*files, *([] if self.mlflow is None else [MlflowLog(self.mlflow)])]


@verb
def study(
    screen: Screen,
    source: SourceArgument,
    sweep: Sweep,
    keeping: Keeping,
    reading: Reading,
    preparing: Preparing,
    common: Common,
) -> int:
    """Train a grid of configurations together, keep them all, and say which is best and why.

    [b]separatrix study iris[/b]
    [b]separatrix study mail.csv --learning-rate 0.1,1 --momentum 0,0.9 --epochs 100,500[/b]
    [b]separatrix study wine --learning-rate 1e-3..1/7 --l2 0,0.01 --seeds 5[/b]
    [b]separatrix study wine --learning-rate 1e-3..1 --l2 1e-4..1 --draws 50[/b]
    [b]separatrix study wine --model svm --C 0.01..100/5 --loss hinge,squared_hinge[/b]
    [b]separatrix study iris --resume[/b]           after a crash, to the same bits

    What is not said is chosen from the data and told. LOW..HIGH/N are N values, evenly spaced in
    powers of ten; with --draws, LOW..HIGH is drawn from. Whenever it ends, what is done is kept.
    """
    from separatrix.cli.study_tables import page_of, report_study, write_page
    from separatrix.study import Study
    from separatrix.study.planning.data import StudyData, run_arguments
    from separatrix.study.planning.default_grid import COURSE, choose_grid
    from separatrix.text import command
    from separatrix.workflow.fitting import prepare

    given = sweep.grid()
    options = {"seed": common.seed, "split": preparing.shares(), **reading.options()}
    loaded = read_source(screen, source, **options)
    if sweep.descends and preparing.standardise is None and loaded.name in COURSE:
        preparing.standardise = False  # as the homework has it
    with screen.busy("Preparing"):
        prepared = prepare(loaded, preparing.settings(loaded.table))
        arguments = run_arguments(_loading(source, options), preparing.options(loaded.table))
        data = StudyData.from_prepared(prepared, arguments)
        estimator = sweep.estimator(given, len(data.training.classes))
        choice = choose_grid(estimator, data, given)
    made = Study(
        keeping.name,
        estimator,
        choice.grid,
        seeds=sweep.seeds,
        draws=sweep.draws,
        store=keeping.store,
        memory=int(keeping.memory * 1e9),
        seed=common.seed,
        notes=[*choice.notes, *sweep.notes(estimator)],
    )
    unsaid: dict[str, Any] = dict.fromkeys(GRID_OPTIONS)  # the grid has them, and what was chosen
    made.command = command(
        *("study", source),
        *words_of(choice.grid),
        *given_options(replace(sweep, **unsaid)),
        *given_options(reading),
        *given_options(preparing),
        *([] if common.seed == 0 else ["--seed", str(common.seed)]),
    )
    try:
        with watching_study(screen) as watch:
            made.run(data, resume=keeping.resume, on_progress=watch, logs=keeping.logs())
    except KeyboardInterrupt:
        keeping.name, keeping.resume = made.name, True
        again = command(*shlex.split(made.command)[1:], *given_options(keeping))
        screen.error("Interrupted: what is done is kept. Go on with:")
        screen.err.print(again, soft_wrap=True)  # to be copied as it is
        return INTERRUPTED
    facts = made.facts()
    page = None if keeping.no_report else keeping.report or page_of(facts.name)
    failed = written(page, lambda path: write_page(facts, path))
    report_study(screen, facts, None if failed else page)
    if failed:
        raise failed
    return NOT_CONVERGED if facts.verdict.best is None else 0


def _loading(source: str, options: dict[str, Any]) -> str:
    """What loads the same source in Python."""
    given = {name: value for name, value in options.items() if value is not None}
    if given.get("seed") == 0:
        del given["seed"]
    words = ", ".join(f"{name}={value!r}" for name, value in given.items())
    return f"load({source!r}, {words})" if words else repr(source)
