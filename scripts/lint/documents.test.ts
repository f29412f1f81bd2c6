import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { layers } from './layers.ts'

const root = resolve(import.meta.dirname, '../..')
const files = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).trim().split('\n')
const documents = files.filter((file) => file.endsWith('.md'))
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const withoutCode = (text: string) => text.replaceAll(/^ *```[^]*?^ *```/gm, '')

/** The matches of a pattern's first group in documents, with the document. */
function find(among: readonly string[], pattern: RegExp, prepare = (text: string) => text) {
  return among.flatMap((document) =>
    [...prepare(read(document)).matchAll(pattern)].map(([, found]) => ({ document, found: found! })),
  )
}

/** The anchors of a document's headings, as GitHub makes them. */
function listAnchors(document: string): string[] {
  return [...withoutCode(read(document)).matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

test('relative links and their anchors lead somewhere', () => {
  const links = find(documents, /\]\((?!https?:|mailto:)([^)\s]+)\)/g, withoutCode)
  const broken = links.filter(({ document, found }) => {
    const [path = '', anchor] = found.split('#')
    const target = path === '' ? document : relative(root, resolve(root, dirname(document), path))
    if (!existsSync(join(root, target))) return true
    return anchor !== undefined && !listAnchors(target).includes(anchor)
  })
  expect(links.length).toBeGreaterThan(50)
  expect(broken).toEqual([])
})

test('the commands of npm exist', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  const commands = find(documents, /npm run ([\w:-]+)(?![\w:-]| --workspace)/g)
  expect(commands.length).toBeGreaterThan(20)
  expect(commands.filter(({ found }) => !(found in scripts))).toEqual([])
})

/** Variables of other programs, of the command line, of the tests and of scripts. */
const otherVariables =
  /^(?:(?:BERTH|TEST|AWS|K3S|OPENAI|ANTHROPIC|CUDA|LLAMA_API|VLLM_API|NODE|XDG|INSTANCE|PROOF)_\w+|Q\d_\w+|NO_COLOR|POSTGRES_PASSWORD|ON_ERROR_STOP|CAP_SETUID|ENABLE_PERSISTENT_CONFIG|STRIPE_TEST_SECRET_KEY)$/

test('the settings that people read about are in .env.example', () => {
  const settings = new Set([...read('.env.example').matchAll(/^#(\w+)=/gm)].map(([, name]) => name))
  const pages = documents.filter((file) => /^(?:README|docs\/.+|(?:deploy|catalog)\/README)\.md$/.test(file))
  const named = find(pages, /(?<![\w-])([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\b/g)
  expect(named.length).toBeGreaterThan(100)
  expect(named.filter(({ found }) => !settings.has(found) && !otherVariables.test(found))).toEqual([])
})

test('the files and folders that documents name exist', () => {
  const named = find(documents, /`([^`\s]*(?:\/|\.(?:ts|tsx|md|yaml)))`/g)
  const paths = named.filter(({ found }) => !/^[/~]|[<*{…]|\.d\.ts$|^my-|^build\/$/.test(found))
  const missing = paths.filter(({ found }) => {
    const path = `/${found}`
    return !files.some((file) => (path.endsWith('/') ? `/${file}`.includes(path) : `/${file}`.endsWith(path)))
  })
  expect(paths.length).toBeGreaterThan(200)
  expect(missing).toEqual([])
})

test('the table of borders in ARCHITECTURE.md has every feature and room above those that it imports', () => {
  const section = read('ARCHITECTURE.md').split('## Borders')[1]!.split('\n## ')[0]!
  const lineOf = new Map<string, number>()
  let wing = ''
  for (const [index, line] of section.split('\n').entries()) {
    const [, first = '', rest = ''] = /^(\S*) {2,}(.*)$/.exec(line) ?? []
    if (first !== '') wing = first
    if (wing === 'features') for (const name of rest.split(', ')) lineOf.set(name, index)
    else lineOf.set(`${wing}/${rest.split(' ')[0]}`, index)
  }
  const own = layers.filter(({ files: [first = ''] }) => first.startsWith('server/src/features/'))
  const names = new Set(own.map(({ name }) => name))
  const wrong = own.flatMap(({ name, imports }) => {
    const at = lineOf.get(name)
    if (at === undefined) return [`${name} is missing`]
    const inside = imports.filter((other) => names.has(other) && other.includes('/') === name.includes('/'))
    return inside.filter((other) => lineOf.get(other)! <= at).map((other) => `${name} is not above ${other}`)
  })
  expect(wrong).toEqual([])
})

test.each([
  ['README.md', ['README.md'], 1_200],
  ['ARCHITECTURE.md', ['ARCHITECTURE.md'], 1_300],
  ['docs', documents.filter((file) => file.startsWith('docs/')), 22_000],
] as const)('%s has few enough words', (_, among, most) => {
  const words = among.flatMap((document) => read(document).trim().split(/\s+/))
  expect(words.length).toBeLessThanOrEqual(most)
})
