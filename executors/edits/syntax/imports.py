"""One more import in a file."""

import libcst as cst


def with_import(source: str, statement: str) -> str:
    """The file with an import in front of its first one that is not from `__future__`; `source` must parse."""
    module = cst.parse_module(source)
    at = next((index for index, each in enumerate(module.body) if _is_plain_import(each)), None)
    if at is None:
        return source
    first = cst.ensure_type(module.body[at], cst.SimpleStatementLine)
    new = cst.ensure_type(cst.parse_statement(statement, module.config_for_parsing), cst.SimpleStatementLine)
    body = [*module.body[:at], new.with_changes(leading_lines=first.leading_lines)]
    body += [first.with_changes(leading_lines=[]), *module.body[at + 1 :]]
    return module.with_changes(body=body).code


def _is_plain_import(statement: cst.BaseStatement | cst.BaseSmallStatement) -> bool:
    match statement:
        case cst.SimpleStatementLine(body=[cst.Import(), *_]):
            return True
        case cst.SimpleStatementLine(body=[cst.ImportFrom(module=origin), *_]):
            return not (isinstance(origin, cst.Name) and origin.value == "__future__")
    return False
