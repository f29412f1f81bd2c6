/** All English texts by area. A namespace, no object, so that a page loads only the areas that it uses. */
export * as text from './areas.ts'
