// Lets the browser save a file.

/**
 * Starts a download.
 * @param address its answer has the file name
 */
export function download(address: string) {
  const link = document.createElement("a");
  link.href = address;
  link.download = "";
  link.click();
}
