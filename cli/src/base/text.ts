import { stripVTControlCharacters } from 'node:util'

/** Removes control sequences, which could hide output or change settings, except tabs and line breaks. */
export function cleanText(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what it removes
  return stripVTControlCharacters(text).replaceAll(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g, '')
}

/** A text that ends like a sentence. */
export function asSentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`
}

/** Makes a text safe for one line of a terminal. */
export function cleanLine(text: string): string {
  return cleanText(text).replaceAll(/[\t\n]+/g, ' ')
}
