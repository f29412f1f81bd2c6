// Runs unmodified clients and agents, installed from PyPI and npm, against complete servers. Open WebUI takes
// several GB. Needs Python 3.11 as `python3.11` or TEST_PYTHON. Arguments select test files, as with vitest.
import { existsSync, globSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { installPython } from '../../tools/python.ts'
import { nameVersions, runCommand, findCacheFolder } from '../../tools/programs.ts'
import { fetchTemplates } from '../../tools/templates.ts'
import { runSuite } from './suite.ts'

/** Each client's newest version that agrees with the others in its environment */
const gateway = ['openai==3.57.0', 'anthropic==2.14.0', 'litellm[proxy]==1.108.7', 'llm==0.36']
const frameworks = [
  'openai-agents==0.24.0',
  'instructor==1.17.0',
  'langchain-openai==1.7.4',
  'langchain-anthropic==1.7.10',
]
const llamaIndex = [
  'llama-index-core==0.14.25',
  'llama-index-llms-openai-like==0.8.1',
  'llama-index-embeddings-openai-like==0.4.0',
]
const agents = [
  '@anthropic-ai/claude-code@2.1.332',
  '@openai/codex@0.169.0',
  '@continuedev/cli@1.5.47',
  'opencode-ai@1.18.33',
]
const pydanticAi = ['pydantic-ai-slim[openai]==2.66.0']
const openWebui = ['open-webui==0.12.4']

const install = (name: string, packages: readonly string[], overrides?: readonly string[]) =>
  installPython(nameVersions(name, packages), packages, overrides)

/** What test files need: variables with folders, by parts of the files' names. */
const needs: readonly [variable: string, files: RegExp, install: () => Promise<string>][] = [
  ['TEST_CLIENTS_GATEWAY', /llm|python/, () => install('clients-gateway', gateway)],
  ['TEST_CLIENTS_FRAMEWORKS', /python/, () => install('clients-frameworks', frameworks)],
  ['TEST_CLIENTS_LLAMA_INDEX', /python/, () => install('clients-llama-index', llamaIndex)],
  ['TEST_CLIENTS_AGENTS', /agents/, () => installNode('clients-agents', agents)],
  ['TEST_TEMPLATES', /agents/, fetchTemplates],
  ['TEST_PYDANTIC_AI', /pydantic|python/, () => install('pydantic-ai', pydanticAi)],
  ['TEST_OPEN_WEBUI', /webui/, () => install('open-webui', openWebui, ['torch==2.13.0'])],
]

await runSuite('clients', async () => {
  const words = process.argv.slice(2)
  const files = globSync('server/test/clients/*.test.ts').filter(
    (file) => words.length === 0 || words.some((word) => file.includes(word)),
  )
  const environment: Record<string, string> = {}
  for (const [variable, pattern, provide] of needs)
    if (files.some((file) => pattern.test(basename(file)))) environment[variable] = await provide()
  await runCommand('vitest', ['run', '--project', 'clients', ...words], environment)
})

/** Installs npm packages, each list once in a separate folder, and returns their folder of programs. */
async function installNode(name: string, packages: readonly string[]): Promise<string> {
  const folder = findCacheFolder(nameVersions(name, packages))
  const mark = join(folder, '.complete')
  if (!existsSync(mark)) {
    await writeFile(join(folder, 'package.json'), '{"private":true}')
    await runCommand('npm', ['install', '--prefix', folder, '--no-audit', '--no-fund', ...packages])
    await writeFile(mark, '')
  }
  return join(folder, 'node_modules/.bin')
}
