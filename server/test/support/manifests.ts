import { readFileSync } from 'node:fs'
import { parseAllDocuments } from 'yaml'

/** Reads the objects of a file of `deploy/kubernetes`, by default those that are rendered from the chart. */
export function readManifests(file = 'berth.yaml'): any[] {
  const text = readFileSync(new URL(`../../../deploy/kubernetes/${file}`, import.meta.url), 'utf8')
  return parseAllDocuments(text).map((document) => document.toJS())
}
