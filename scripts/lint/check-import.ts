import { matchesGlob, posix } from 'node:path'
import { layers, reserved } from './layers.ts'
import type { Layer } from './layers.ts'

/**
 * Checks an import against `layers.ts`. `importer` is a path from the repository's root, `specifier` the text
 * of the import. Returns why the import is forbidden, or null.
 */
export function checkImport(importer: string, specifier: string): string | null {
  const from = findLayer(importer)
  if (from === undefined) {
    return matchesGlob(importer, '*/src/**') ? 'Add this file to a layer in scripts/lint/layers.ts.' : null
  }
  const isRelative = specifier.startsWith('.')
  const target = isRelative ? posix.join(posix.dirname(importer), specifier) : specifier
  const to = findLayer(target)
  for (const { targets, by, except, exceptOwnFeature, message } of reserved) {
    if (!matches(target, targets) || !matches(importer, [by]) || matches(importer, except)) continue
    if (exceptOwnFeature !== true || findFeature(importer) !== findFeature(target)) return message
  }
  if (importer.endsWith('.test.ts') && matchesGlob(target, '{server,engine,grammar}/test/support/**'))
    return null
  if (to === undefined) return isRelative ? `The layer "${from.name}" may not import ${target}.` : null
  if (to === from || from.imports.includes(to.name)) return null
  return `The layer "${from.name}" may not import the layer "${to.name}": see scripts/lint/layers.ts.`
}

function findLayer(path: string): Layer | undefined {
  return layers.find(({ files }) => matches(path, files))
}

function findFeature(path: string): string | undefined {
  return /^server\/src\/features\/([^/]+)\//.exec(path)?.[1]
}

function matches(path: string, globs: readonly string[]): boolean {
  return globs.some((glob) => matchesGlob(path, glob))
}
