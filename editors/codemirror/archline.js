// Highlights archline in CodeMirror 6. Written by `python editors/generate.py` from the words of the grammar.
//
//     import { StreamLanguage } from "@codemirror/language";
//     import { archline } from "./archline.js";
//     new EditorView({ extensions: [basicSetup, StreamLanguage.define(archline)], ... });

// The expressions are tried in this order at the position of the stream; they may look at what is before it.
const rules = [
  [/(?<=\b(?:algorithm|extern)\s+)[A-Za-z_]\w*/y, "variableName.function.definition"],
  [/#.*/y, "comment"],
  [/\"[^\"\n]*\"|'[^'\n]'/y, "string"],
  [/\b(?:0x[0-9A-Fa-f]+|[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\b/y, "number"],
  [/\b(?:colmajor|int|real|rowmajor|zmorton)\b|(?<=: )\b(?:bool|char|colmajor|in|index|inout|int|offsets|out|real|rowmajor|size|zmorton)\b/y, "typeName"],
  [/\b(?:O|Omega|Theta|pi)\b/y, "atom"],
  [/\b(?:abs|bit_and|bit_or|ceil|cos|exp|floor|log|log2|max|min|real_of|rsqrt|sin|sqrt|xor)\b(?=\()/y, "variableName.standard"],
  [/\b(?:algorithm|allgather|allreduce|alltoall|along|and|as|assume|at|atomic|break|by|claim|continue|costs|decreases|divides|downto|elif|else|elseif|ensures|extern|for|foreach|from|if|into|is|let|local|not|on|onto|or|parallel|pass|reduce_scatter|repeat|return|spawn|split|sync|to|using|when|where|while|with)\b|\b(?:all|any|barrier|below|bool|broadcast|char|const|counts|def|div|do|each|every|exchange|function|gather|grid|in|index|inout|input|iterations|longest|mod|most|of|offsets|operator|out|output|power|procedure|receive|reduce|scan|scatter|send|shift|size|square|step|then|times|total|until|use|within)\b(?= +[\w(\"]| *:? *(?:#|$))/y, "keyword"],
  [/\.\.[=+]?|->|[-+*\/%<>=!]=?|[@^?&|~≤≥≠÷←]/y, "operator"],
  [/[(),.:;'\[\]{}]/y, "punctuation"],
  [/[A-Za-z_]\w*/y, "variableName"],
  [/\s+/y, null]
];

export const archline = {
  name: "archline",
  token(stream) {
    for (const [expression, style] of rules) {
      expression.lastIndex = stream.pos;
      if (expression.test(stream.string)) {
        stream.pos = expression.lastIndex;
        return style;
      }
    }
    stream.next();
    return "invalid";
  },
  languageData: {"commentTokens": {"line": "#"}, "closeBrackets": {"brackets": ["(", "[", "\""]}},
};
