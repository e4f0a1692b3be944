from eaglecfg.api import Config as Config
from eaglecfg.api import ConfigUnreadable as ConfigUnreadable
from eaglecfg.api import EaglecfgError as EaglecfgError
from eaglecfg.api import Finding as Finding
from eaglecfg.api import Hop as Hop
from eaglecfg.api import NotChecked as NotChecked
from eaglecfg.api import Report as Report
from eaglecfg.api import Resolution as Resolution
from eaglecfg.api import Setting as Setting
from eaglecfg.api import Trace as Trace
from eaglecfg.api import UsageError as UsageError
from eaglecfg.api import load as load
from eaglecfg.api import resolve as resolve
from eaglecfg.api import trace as trace
from eaglecfg.api import validate as validate

__version__: str
