// Modules that are loaded when they are needed.

/**
 * For `import(…).catch(notFetched)`: a module that could not be fetched is `null`. That happens when a page is left
 * meanwhile, or when its server has gone, which the page says elsewhere. A module that has a fault of its own still
 * throws.
 * @param error what browsers call this in their own words: "Failed to fetch dynamically imported module", "error
 * loading dynamically imported module", "Importing a module script failed"
 */
export function notFetched(error: unknown): null {
  if (error instanceof TypeError && /import\w* (a )?module/i.test(error.message)) return null;
  throw error;
}
