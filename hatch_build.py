"""Put what ships in data/ into the wheel, as reservoir/_shipped."""

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ShippedData(BuildHookInterface):
    def initialize(self, version: str, build_data: dict) -> None:
        # An editable install reads data/ in the working tree, so a copy beside it would only go stale.
        if version == "standard":
            build_data["force_include"]["data"] = "reservoir/_shipped"
