// Letting the browser keep a file.

/** @param address the server names the file */
export function download(address: string) {
  const link = document.createElement("a");
  link.href = address;
  link.download = "";
  link.click();
}
