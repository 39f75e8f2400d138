"""The brief header is a part of the whole one: with another name or type a history would read whole headers again."""

import msgspec
import pytest

from dbcpu.analysis.comparison import brief_header as brief
from dbcpu.record import header as record


@pytest.mark.parametrize(
    ("part", "whole"),
    [
        (brief.BriefHeader, record.Header),
        (brief.BriefPlan, record.Plan),
        (brief.BriefWork, record.WorkloadInfo),
        (brief.BriefHost, record.HostInfo),
        (brief.BriefLimits, record.Limits),
        (brief.BriefDatabase, record.Database),
    ],
)
def test_what_is_read_in_brief_is_called_as_in_the_record_and_of_its_type(
    part: type[msgspec.Struct], whole: type[msgspec.Struct]
) -> None:
    known = {field.encode_name: field for field in msgspec.structs.fields(whole)}
    for field in msgspec.structs.fields(part):
        assert field.encode_name in known
        own, other = msgspec.inspect.type_info(field.type), msgspec.inspect.type_info(known[field.encode_name].type)
        nested = "Brief" in str(own) or field.type is msgspec.Raw
        assert nested or own == other, field.name
