// Letting the browser keep a file.

/** @param {string} address the server names the file */
export function download(address) {
  const link = document.createElement("a");
  link.href = address;
  link.download = "";
  link.click();
}
