/**
 * Every English sentence of the console, by area; another language would be another such module. It is a namespace and no object, so
 * that a page loads the areas that it uses and no others.
 */
export * as text from './areas.ts'
