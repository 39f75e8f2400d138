"""``dbcpu doctor``: what can be measured on a target, what would distort it, and how to fix that."""

import click

from dbcpu.cli._options import fail_on_option, from_option, host_option, json_flag, target_argument


@click.command
@target_argument
@host_option
@from_option
@json_flag
@fail_on_option
def command(target: str, host: str | None, origin: str | None, as_json: bool, fail_on: str) -> int:
    """Check TARGET and its host before a run, without loading them.

    \b
    Examples: dbcpu doctor
              dbcpu doctor postgresql://dba@db1/postgres --host ssh:db1
    """
    from dbcpu.config.targets import resolve
    from dbcpu.formatting import printable_lines
    from dbcpu.record.findings import as_json_text, reached
    from dbcpu.workflows.doctor import as_text, diagnose
    from dbcpu.workflows.origins.far_target import far_target
    from dbcpu.workflows.terminal import wrapped

    if far := far_target(target, origin, host):
        from dbcpu.workflows.origins.launch import doctor_from

        return doctor_from(far, [*(["--json"] if as_json else []), "--fail-on", fail_on])
    findings = diagnose(resolve(target, here=True), host)
    click.echo(as_json_text(findings) if as_json else wrapped(printable_lines(as_text(findings))))
    return int(reached(findings, fail_on))
