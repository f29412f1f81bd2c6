/**
 * All English texts of the console, by area. A namespace instead of an object, so that a page loads only the
 * areas that it uses.
 */
export * as text from './areas.ts'
