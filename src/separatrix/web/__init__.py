"""What people see in a browser."""

from separatrix.web.report import report_page, write_report

__all__ = ["report_page", "write_report"]
