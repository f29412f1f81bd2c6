import { execFile } from 'node:child_process'
import { cpSync, existsSync, globSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join, matchesGlob, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

// Builds the stages of the Dockerfile as folders, because a machine may have no image builder: COPY copies
// what the ignore file lets through, the script that builds the console runs, and packages come from this
// checkout.

const run = promisify(execFile)
const root = resolve(import.meta.dirname, '../../..')
const dockerfile = readFileSync(join(root, 'deploy/Dockerfile'), 'utf8')
const ignoreRules = readFileSync(join(root, 'deploy/Dockerfile.dockerignore'), 'utf8')
  .split('\n')
  .filter((line) => line !== '')

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-image-'))
  await buildStages()
}, 120_000)
afterAll(() => rm(folder, { recursive: true, force: true }))

function isInContext(path: string): boolean {
  const parts = path.split('/')
  const prefixes = parts.map((_part, index) => parts.slice(0, index + 1).join('/'))
  let included = true
  for (const rule of ignoreRules) {
    const pattern = rule.replace(/^!/, '')
    if (prefixes.some((prefix) => matchesGlob(prefix, pattern))) included = rule.startsWith('!')
  }
  return included
}

async function buildStages(): Promise<void> {
  const context = join(folder, 'context')
  for (const path of listFiles('')) {
    if (!isInContext(path)) continue
    mkdirSync(dirname(join(context, path)), { recursive: true })
    cpSync(join(root, path), join(context, path))
  }
  let stage = ''
  for (const line of dockerfile.replaceAll(/\\\n/g, ' ').split('\n')) {
    const [, parent, name] = /^FROM (\S+) AS (\S+)$/.exec(line) ?? []
    if (parent !== undefined && name !== undefined) {
      stage = join(folder, name)
      if (existsSync(join(folder, parent))) cpSync(join(folder, parent), stage, { recursive: true })
      else mkdirSync(stage)
    }
    const [, from = 'context', sources, target = ''] = /^COPY (?:--from=(\S+) )?(.+) (\S+)$/.exec(line) ?? []
    for (const source of sources?.split(' ') ?? []) copy(join(folder, from), source, stage, target)
    const [, script] = /^RUN node (\S+)$/.exec(line) ?? []
    if (script !== undefined) {
      linkPackages(stage)
      await run(process.execPath, [script], { cwd: stage })
    }
    if (line === 'RUN npm run build --workspace=cli') {
      linkPackages(stage)
      const own = join(root, 'cli/node_modules')
      if (existsSync(own)) symlinkSync(own, join(stage, 'cli/node_modules'))
      await run('npm', ['run', 'build', '--workspace=cli'], { cwd: stage })
    }
  }
}

function copy(from: string, source: string, stage: string, target: string): void {
  const path = join(from, source.replace(/^\/berth\//, ''))
  // Packages are not installed here.
  if (!existsSync(path) && /^\/(?:berth\/node_modules|cuda)$/.test(source)) return
  const destination = target.endsWith('/') ? join(stage, target, basename(source)) : join(stage, target)
  cpSync(path, destination, { recursive: true })
}

function listFiles(path: string): string[] {
  return readdirSync(join(root, path), { withFileTypes: true }).flatMap((entry) => {
    if (entry.name === 'node_modules' || entry.name === '.git') return []
    return entry.isDirectory() ? listFiles(join(path, entry.name)) : [join(path, entry.name)]
  })
}

/** Links this checkout's packages, and the workspaces of the stage. */
function linkPackages(stage: string): void {
  const packages = join(stage, 'node_modules')
  mkdirSync(join(packages, '@berth'), { recursive: true })
  for (const name of readdirSync(join(root, 'node_modules'))) {
    if (name !== '@berth') symlinkSync(join(root, 'node_modules', name), join(packages, name))
  }
  for (const name of ['grammar', 'payment-sandbox']) {
    symlinkSync(join(stage, name), join(packages, '@berth', name))
  }
}

/** What `process/main.ts` loads on demand */
const modules = [
  'process/run-server',
  'adapters/identity-provider/oidc',
  'features/inference/counting/traces',
]

describe.each(['server', 'all', 'cuda'])('the target %s', (target) => {
  test('has every file that the server reads', async () => {
    const stage = join(folder, target)
    linkPackages(stage)
    const imports = modules.map((name) => `import('./server/src/${name}.ts')`)
    await run(process.execPath, ['--input-type=module', '--eval', `await Promise.all([${imports.join()}])`], {
      cwd: stage,
    })
    for (const path of [
      'server/src/process/main.ts',
      'server/src/adapters/model-runtime/kubernetes/runtime.ts',
      'console/dist/index.html',
      'console/dist/visitor.html',
      'cli/berth-cli.tgz',
    ]) {
      expect(existsSync(join(stage, path)), path).toBe(true)
    }
    for (const path of ['catalog', 'server/migrations', 'payment-sandbox/migrations']) {
      const list = (folder: string) => new Set<unknown>(readdirSync(join(folder, path), { recursive: true }))
      expect(list(stage)).toEqual(list(root))
    }
  })

  test(target === 'server' ? 'has no engine' : 'has the engine', async () => {
    const program = join(folder, target, 'engine/src/main.ts')
    expect(existsSync(program)).toBe(target !== 'server')
    if (target === 'server') return
    const sources = globSync('**/*.ts', { cwd: join(root, 'engine/src') })
    for (const source of sources.filter((path) => !path.endsWith('.test.ts'))) {
      expect(existsSync(join(dirname(program), source)), source).toBe(true)
    }
  })
})

test('the target connect is the command line, without packages', async () => {
  const stage = join(folder, 'connect')
  expect(readdirSync(stage).toSorted()).toEqual(['bin', 'dist', 'package.json'])
  const [program, ...command] = [
    ...JSON.parse(/AS connect[\s\S]*?^ENTRYPOINT (.+)$/m.exec(dockerfile)![1]!),
    ...JSON.parse(/AS connect[\s\S]*?^CMD (.+)$/m.exec(dockerfile)![1]!),
  ] as string[]
  expect(program).toBe('node')
  const { PATH } = process.env
  const failure = run(process.execPath, command, { cwd: stage, env: { PATH } })
  await expect(failure).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining('Set BERTH_EMAIL') })
})

test('the CPU target is the default, and only the CUDA target has builds for CUDA', () => {
  const targets = [...dockerfile.matchAll(/^FROM \S+ AS (\S+)$/gm)].map(([, name]) => name)
  expect(targets.at(-1)).toBe('all')
  expect(dockerfile).toMatch(/^FROM cuda-packages AS all-packages\nRUN rm -rf .*\*-cuda .*\*-cuda-ext$/m)
  expect(dockerfile).toContain('COPY --from=cuda-packages /berth/node_modules node_modules')
})

test('the image runs Node with the flags of npm start', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const entrypoint = JSON.parse(/^ENTRYPOINT (.+)$/m.exec(dockerfile)![1]!) as string[]
  const flags = (command: string[]) => command.filter((part) => part.startsWith('--'))
  expect(flags(entrypoint)).toEqual(flags(scripts.start.split(' ')))
})
