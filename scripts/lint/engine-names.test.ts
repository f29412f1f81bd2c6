import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
const folders = ['server/src/{base,database,features,gateway,http,jobs,ports,process}', 'console/src']

/** Files whose data is about engines, each with the reason. */
const exceptions: Readonly<Record<string, string>> = {
  'server/src/base/format-names.ts': 'names of formats for people',
  'server/src/features/catalog/engine-profiles.ts': 'the `engines` sections of the catalog file',
  'server/src/features/catalog/sources/file-schema.ts': 'which formats of the catalog file name files',
  'server/src/features/own-models/facts/formats.ts': 'the formats of weights that repositories have',
  'server/src/process/startup-checks.ts': 'settings with paths of programs',
  'console/src/text/deployment-parts.ts': 'names of engines for people',
  'console/src/text/variants.ts': 'names of formats for people',
}

/** Names of runtimes and engines, and of the format that only llama.cpp loads. */
const names = /xinference|kubernetes|vllm|sglang|llama[._-]?cpp|llama[._-]?server|ggufv2/i
/** Ordinary words that name a runtime or an engine in a comparison. */
const words = /(?:[=!]==?|\bcase|includes\()\s*'(?:local|embedded)'/

test.each(globSync(`{${folders.join(',')}}/**/*.{ts,tsx}`, { cwd: root }).filter(isChecked))(
  '%s names no runtime and no engine',
  (file) => {
    expect(findNames(readFileSync(join(root, file), 'utf8'))).toEqual([])
  },
)

test('every exception is a file that names one', () => {
  const named = Object.keys(exceptions).filter(
    (file) => findNames(readFileSync(join(root, file), 'utf8')).length > 0,
  )
  expect(named).toEqual(Object.keys(exceptions))
})

describe('what counts as a name', () => {
  test.each([
    ["if (runtime.name === 'local') return", 1],
    ["config.runtime === 'xinference' ? a : b", 1],
    ['const minimum = profiles?.llamaCpp?.minimumBuild', 1],
    ["name: z.enum(['vllm', 'embedded'])", 1],
    ["return format !== 'ggufv2'", 1],
    ["case 'embedded':", 1],
    ["const text = 'a b' + profile.vllm + 'c'", 1],
    ['// llama.cpp has slots.', 0],
    ['/** As in vLLM. */ const a = 1', 0],
    ["const message = 'Set XINFERENCE_URLS, or use Kubernetes.'", 0],
    ["meta({ examples: ['vllm', 'llama.cpp'] })", 0],
    ["model_format: 'ggufv2', // an example", 1],
    ["instance_type: 'local-cpu', region: 'local'", 0],
  ])('%s: %d', (source, count) => expect(findNames(source)).toHaveLength(count))
})

function isChecked(file: string): boolean {
  return !file.includes('.test.') && exceptions[file] === undefined
}

/** The lines of code that name a runtime or an engine. Comments, sentences and examples in schemas may. */
function findNames(source: string): string[] {
  return source
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/examples: \[[^\]]*\]/g, '')
    .split('\n')
    .map((line) =>
      line
        .replace(/(^|\s)\/\/.*$/, '')
        .replaceAll(/'[^']*'|"[^"]*"|`[^`]*`/g, (literal) => (/\s/.test(literal) ? "''" : literal))
        .trim(),
    )
    .filter((line) => names.test(line) || words.test(line))
}
