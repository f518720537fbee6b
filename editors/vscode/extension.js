// Starts the language server of archline for files .algo, and stops it with the editor.

const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = () => {
  const settings = workspace.getConfiguration("archline");
  const server = { command: settings.get("command"), args: ["lsp"] };
  const options = {
    documentSelector: [{ language: "archline" }],
    initializationOptions: { inlayHints: settings.get("inlayHints") },
  };
  client = new LanguageClient("archline", "archline", server, options);
  return client.start();
};

exports.deactivate = () => client?.stop();
