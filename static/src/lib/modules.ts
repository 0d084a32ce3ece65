// Modules that are loaded on demand.

/**
 * Turns a failed fetch into `null`, as `import(…).catch(notFetched)`. That happens if the user leaves the page
 * meanwhile, or if the server is gone, which the page shows elsewhere. A fault inside the module is still thrown.
 * @param error browsers have different messages: "Failed to fetch dynamically imported module", "error loading
 * dynamically imported module", "Importing a module script failed"
 */
export function ignoreFetchFailure(error: unknown): null {
  if (error instanceof TypeError && /import\w* (a )?module/i.test(error.message)) return null;
  throw error;
}
