"""Programs as people write them become programs of the core language, which is all that later stages know.

`elaborate_program` takes the program of the parser and returns one without the nodes of `surface.py`: names have
declarations, abbreviations stand for their values. The checker, the executor and all analyses read its result;
`archline fmt` prints what its first half, `declare_program`, returns.
"""

from archline.language.elaboration.programs import Elaborated as Elaborated
from archline.language.elaboration.programs import declare_program as declare_program
from archline.language.elaboration.programs import elaborate_program as elaborate_program
