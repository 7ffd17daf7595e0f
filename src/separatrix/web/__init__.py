"""HTML reports of studies."""

from separatrix.web.report import report_page, write_report

__all__ = ["report_page", "write_report"]
