// Prints Lighthouse scores of the main pages on a desktop and on a slow phone, and the compressed JavaScript
// of the first view: `npm run console:lighthouse [part of a page's name]`. Fails below a score of 95. Scores
// are medians of three runs, because other load affects them. npx downloads the large Lighthouse.
import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { launchBrowser, openVisitor } from '../console/test/support/browser.ts'
import { findChromium } from '../console/test/support/chromium.ts'
import { measureFirstView } from '../console/test/support/first-view.ts'
import { startConsoleServer } from '../console/test/support/server.ts'
import { callByApi, deployByApi, createPerson, registerByApi } from '../console/test/support/steps.ts'

const lighthouse = 'lighthouse@13.5.0'
const categories = ['performance', 'accessibility', 'best-practices'] as const
const required = 0.95
const runs = 3

type Device = 'desktop' | 'phone'

async function main(wanted: string): Promise<void> {
  await using cleanup = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'berth-lighthouse-'))
  cleanup.defer(() => rm(folder, { recursive: true, force: true }))
  const server = await startConsoleServer()
  cleanup.defer(() => server.close())
  const browser = await launchBrowser()
  cleanup.defer(() => browser.close())

  const { page, context } = await openVisitor(browser, server.url)
  await registerByApi(page, createPerson())
  const deployment = await deployByApi(page)
  const { items } = await callByApi<{ items: { id: string; model_name: string }[] }>(
    page.request,
    'GET',
    '/api/v1/deployable-models?q=qwen3',
  )
  const paths = {
    'sign-in': '/sign-in',
    deployments: '/deployments',
    deployment: `/deployments/${deployment}`,
    catalog: '/catalog',
    // The model with the most variants
    model: `/catalog/${items.find(({ model_name }) => model_name === 'qwen3')?.id}`,
    playground: `/playground?deployment=${deployment}`,
    usage: '/usage',
  }
  const running = page.getByText('Running', { exact: true })
  const { scripts } = await measureFirstView(page, '/deployments', running)
  const cookies = (await context.cookies()).map(({ name, value }) => `${name}=${value}`).join('; ')
  await context.close()

  for (const device of ['desktop', 'phone'] as const) {
    for (const [name, path] of Object.entries(paths).filter(([name]) => name.includes(wanted))) {
      const headers = name === 'sign-in' ? {} : { Cookie: cookies }
      await score(name, device, server.url + path, folder, headers)
    }
  }
  const bytes = scripts.reduce((sum, script) => sum + script.bytes, 0)
  console.log(
    `first view: ${(bytes / 1_000).toFixed(1)} kB of compressed JavaScript in ${scripts.length} files`,
  )
}

async function score(
  name: string,
  device: Device,
  url: string,
  folder: string,
  headers: object = {},
): Promise<void> {
  const reports: Report[] = []
  for (let attempts = 0; reports.length < runs; attempts += 1) {
    const report = await runLighthouse(name, device, url, folder, headers)
    if (report.runtimeError === undefined) reports.push(report)
    // On a busy machine, a new renderer may trace only after the navigation, so the trace has no start.
    else if (report.runtimeError.code !== 'NO_NAVSTART' || attempts > runs) {
      throw new Error(`Lighthouse could not measure ${url}: ${report.runtimeError.message}`)
    }
  }
  const speed = ({ categories }: Report) => categories.performance.score
  const result = reports.toSorted((one, other) => speed(one) - speed(other))[Math.floor(runs / 2)]
  if (!result) throw new Error('Lighthouse wrote no report.')
  const scores = categories.map(
    (category) => `${category} ${Math.round(result.categories[category].score * 100)}`,
  )
  const paint = result.audits['largest-contentful-paint']?.displayValue
  console.log(`${name} on a ${device}: ${scores.join(', ')}; largest contentful paint ${paint}`)
  if (categories.some((category) => result.categories[category].score < required)) process.exitCode = 1
  for (const { id, score, scoreDisplayMode, title, displayValue = '' } of Object.values(result.audits)) {
    const isWanting = score !== null && score < 0.9 && scoreDisplayMode !== 'informative'
    if (isWanting) console.log(`  ${id} ${score}: ${title} ${displayValue}`)
  }
}

async function runLighthouse(
  name: string,
  device: Device,
  url: string,
  folder: string,
  headers: object,
): Promise<Report> {
  const report = join(folder, `${name}.json`)
  const flags = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-quic']
  const { executablePath, env } = await findChromium()
  const { status } = spawnSync(
    'npx',
    [
      '--yes',
      lighthouse,
      url,
      '--quiet',
      '--output=json',
      ...(device === 'desktop' ? ['--preset=desktop'] : []),
      `--output-path=${report}`,
      `--only-categories=${categories.join(',')}`,
      `--extra-headers=${JSON.stringify(headers)}`,
      `--chrome-flags=${flags.join(' ')} --user-data-dir=${join(folder, 'profile')}`,
    ],
    { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, ...env, CHROME_PATH: executablePath } },
  )
  const result = await readFile(report, 'utf8').catch(() => null)
  if (result === null) throw new Error(`Lighthouse exited with code ${status} for ${url}.`)
  await rm(report)
  return JSON.parse(result) as Report
}

/** The used fields of Lighthouse's report. */
interface Report {
  runtimeError?: { code: string; message: string }
  categories: Record<(typeof categories)[number], { score: number }>
  audits: Record<
    string,
    {
      id: string
      title: string
      score: number | null
      scoreDisplayMode: string
      displayValue?: string
    }
  >
}

await main(parseArgs({ allowPositionals: true }).positionals[0] ?? '')
