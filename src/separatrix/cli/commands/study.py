"""separatrix study: training and comparison of a grid of configurations."""

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from separatrix.cli.clusters import Dask, connect_to
from separatrix.cli.command_decorator import INTERRUPTED, NOT_CONVERGED, CommonOptions, command
from separatrix.cli.options import PreparationOptions, ReadingOptions, SourceArgument
from separatrix.cli.output import Output
from separatrix.cli.reading import read_source
from separatrix.cli.studies.grid_options import GRID_OPTIONS, GridOptions, given_options, words_of
from separatrix.cli.studies.study_progress import show_study_progress
from separatrix.cli.writing import try_to_write

_STUDY = "Study"

StoreOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Database file of the studies (default: $SEPARATRIX_STORE or ./separatrix.db).",
        rich_help_panel=_STUDY,
    ),
]


@dataclass
class StudyOptions:
    """Options for the name, the store, the report and the logs of a study."""

    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Name of the study (default: the name of the source).",
            rich_help_panel=_STUDY,
        ),
    ] = None
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Resume this study, or start it if there is none.",
            rich_help_panel=_STUDY,
        ),
    ] = False
    store: StoreOption = None
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="HTML report to write (default: reports/NAME.html).",
            rich_help_panel=_STUDY,
        ),
    ] = None
    no_report: Annotated[
        bool, typer.Option("--no-report", help="Write no report.", rich_help_panel=_STUDY)
    ] = False
    memory: Annotated[
        float,
        typer.Option(
            min=0.001,
            metavar="GB",
            help="Maximum memory for the models of a batch, in gigabytes.",
            rich_help_panel=_STUDY,
        ),
    ] = 1.0
    log: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="CSV file to which every epoch is appended.",
            rich_help_panel=_STUDY,
        ),
    ] = None
    mlflow: Annotated[
        str | None,
        typer.Option(
            metavar="URI",
            help="MLflow server to which every epoch is sent.",
            rich_help_panel=_STUDY,
        ),
    ] = None

    def logs(self) -> list[Any]:
        """Return the logs for --log and --mlflow."""
        from separatrix.study import CsvLog, MlflowLog

        files = [] if self.log is None else [CsvLog(self.log)]
        return [*files, *([] if self.mlflow is None else [MlflowLog(self.mlflow)])]


@command
def study(
    output: Output,
    source: SourceArgument,
    grid_options: GridOptions,
    study_options: StudyOptions,
    reading: ReadingOptions,
    preparing: PreparationOptions,
    common: CommonOptions,
    dask: Dask = None,
) -> int:
    """Train a grid of configurations together, store them, and compare them.

    [b]separatrix study iris[/b]
    [b]separatrix study mail.csv --learning-rate 0.1,1 --epochs 100,500[/b]
    [b]separatrix study wine --learning-rate 1e-3..1/7 --l2 0,0.01 --seeds 5[/b]
    [b]separatrix study wine --learning-rate 1e-3..1 --l2 1e-4..1 --draws 50[/b]
    [b]separatrix study wine --model svm --C 0.01..100/5 --loss hinge,squared_hinge[/b]
    [b]separatrix study iris --resume[/b]           continue after an interruption

    Values that are not given are chosen from the data and printed. LOW..HIGH/N means N values with
    logarithmic spacing; with --draws, LOW..HIGH is a range to draw from. If the study is
    interrupted, the progress is kept and --resume continues with identical results.
    """
    from separatrix.cli.option_names import name_options
    from separatrix.cli.studies.study_tables import page_of, report_study, write_page
    from separatrix.study import Study
    from separatrix.study.planning.data import StudyData, run_arguments
    from separatrix.study.planning.default_grid import choose_grid, homework_note, homework_of
    from separatrix.text import shell_command
    from separatrix.workflow.preparing import prepare_source

    given = grid_options.grid()
    options = {"seed": common.seed, "split": preparing.shares(), **reading.options()}
    cluster = connect_to(dask)
    loaded = read_source(output, source, **options)
    if grid_options.descends and preparing.standardise is None:
        homework = homework_of(loaded.fingerprint)
        if homework is not None:
            preparing.standardise = False
            loaded = replace(loaded, notes=[*loaded.notes, homework_note(homework)])
    with output.spinner("Preparing"):
        prepared = prepare_source(loaded, preparing.settings(loaded.table))
        prepared = replace(prepared, notes=list(map(name_options, prepared.notes)))
        arguments = run_arguments(_loading(source, options), preparing.options(loaded.table))
        data = StudyData.from_prepared(prepared, arguments, cluster)
        estimator = grid_options.estimator(given, len(data.training.classes))
        choice = choose_grid(estimator, data, given)
    made = Study(
        study_options.name,
        estimator,
        choice.grid,
        seeds=grid_options.seeds,
        draws=grid_options.draws,
        store=study_options.store,
        memory=int(study_options.memory * 1e9),
        seed=common.seed,
        notes=[*choice.notes, *grid_options.notes(estimator)],
    )
    without_grid: dict[str, Any] = dict.fromkeys(GRID_OPTIONS)  # choice.grid has these options
    made.command = shell_command(
        *("study", source),
        *words_of(choice.grid),
        *given_options(replace(grid_options, **without_grid)),
        *given_options(reading),
        *given_options(preparing),
        *([] if dask is None else ["--dask", dask]),
        *([] if common.seed == 0 else ["--seed", str(common.seed)]),
    )
    try:
        with show_study_progress(output) as progress:
            made.run(
                data, resume=study_options.resume, on_progress=progress, logs=study_options.logs()
            )
    except KeyboardInterrupt:
        study_options.name, study_options.resume = made.name, True
        again = shell_command(*shlex.split(made.command)[1:], *given_options(study_options))
        output.error("Interrupted: the progress is kept. Resume with:")
        output.err.print(again, soft_wrap=True)  # unbroken, so that it can be copied
        return INTERRUPTED
    facts = made.facts()
    page = None if study_options.no_report else study_options.report or page_of(facts.name)
    failed = try_to_write(page, lambda path: write_page(facts, path))
    report_study(output, facts, None if failed else page)
    if failed:
        raise failed
    return NOT_CONVERGED if facts.verdict.best is None else 0


def _loading(source: str, options: dict[str, Any]) -> str:
    """Return the Python expression that loads the same source; FILE is for standard input."""
    source = "FILE" if source == "-" else source
    given = {name: value for name, value in options.items() if value is not None}
    if given.get("seed") == 0:
        del given["seed"]
    words = ", ".join(f"{name}={value!r}" for name, value in given.items())
    return f"load({source!r}, {words})" if words else repr(source)
