import { readFileSync } from 'node:fs'
import type { Plugin, Rolldown } from 'vite'
import { catalog, common, deployments, usage } from './src/text/areas.ts'

/** What a page needs before its first data arrives. */
interface FirstView {
  frame: 'member' | 'visitor'
  /** The modules of the page, below `src` */
  modules: string[]
  /** The texts of the page's heading, if they do not depend on data */
  heading?: { title: string; description: string }
}

const inShell = (...modules: string[]) => ['shell/app-shell.tsx', ...modules]

/** The module of the list of deployments, which is the page that people see first after signing in */
export const firstPage = inShell('features/deployments/deployments-page.tsx')

/**
 * The files with the first views of members with a session, and of visitors without one. The server sends `first-views/NAME.html` at
 * `/NAME`, `first-views/NAME-item.html` below it, and `index.html` to members at all other paths.
 */
const firstViews: Record<string, FirstView> = {
  'index.html': { frame: 'member', modules: inShell() },
  'visitor.html': { frame: 'visitor', modules: ['features/auth/sign-in-page.tsx'] },
  'first-views/deployments.html': { frame: 'member', modules: firstPage, heading: deployments },
  'first-views/catalog.html': {
    frame: 'member',
    modules: inShell('features/catalog/catalog-page.tsx'),
    heading: catalog,
  },
  'first-views/catalog-item.html': { frame: 'member', modules: inShell('features/catalog/model-page.tsx') },
  'first-views/playground.html': {
    frame: 'member',
    modules: inShell('features/playground/playground-page.tsx'),
  },
  'first-views/usage.html': {
    frame: 'member',
    modules: inShell('features/usage/usage-page.tsx'),
    heading: usage,
  },
}

/** Writes the files of the first views: a static frame, visible before any code has loaded, and preloads of the view's code. */
export function writeFirstViews(): Plugin {
  return {
    name: 'write-first-views',
    apply: 'build',
    enforce: 'post',
    generateBundle(_options, bundle) {
      const page = bundle['index.html']
      if (page?.type !== 'asset') throw new Error('The bundle has no index.html.')
      // The style sheet has priority, because the frame needs it.
      const html = String(page.source).replaceAll('<script async', '<script async fetchpriority="low"')
      for (const [fileName, view] of Object.entries(firstViews)) {
        const source = writeFirstView(html, view, Object.values(bundle))
        if (fileName === 'index.html') page.source = source
        else this.emitFile({ type: 'asset', fileName, source })
      }
    },
  }
}

function writeFirstView(html: string, { frame, modules, heading }: FirstView, outputs: Output[]): string {
  const font = outputs.find(({ fileName }) => fileName.includes('/geist-latin-wght-normal'))
  const links = [
    `  <link rel="preload" as="font" type="font/woff2" crossorigin href="/${font?.fileName}">\n`,
    ...findFiles(outputs, modules)
      .filter((file) => !html.includes(file))
      .map((file) => `  <link rel="modulepreload" fetchpriority="low" crossorigin href="/${file}">\n`),
  ]
  const readFrame = (name: string) => readFileSync(new URL(`frames/${name}.html`, import.meta.url), 'utf8')
  const page = html
    .replace('</head>', `${links.join('')}</head>`)
    .replace('<div id="root">', `<div id="root">${readFrame(frame)}`)
    .replace('<!-- heading -->', () => readFrame(heading ? 'heading' : 'heading-skeleton'))
  if (frame === 'visitor') return page.replace('<html', '<html data-session="none"')
  if (!heading) return page
  return page
    .replaceAll('{title}', heading.title)
    .replaceAll('{description}', heading.description)
    .replace(/<title>.*<\/title>/, `<title>${heading.title} · ${common.product}</title>`)
}

type Output = Rolldown.OutputBundle[string]

/** The files of these modules and their imports. */
function findFiles(outputs: Output[], modules: string[]): string[] {
  const chunks = outputs.filter((output) => output.type === 'chunk')
  const found = new Set<string>()
  const visit = (chunk: (typeof chunks)[number] | undefined) => {
    if (!chunk || found.has(chunk.fileName)) return
    found.add(chunk.fileName)
    for (const name of chunk.imports) visit(chunks.find(({ fileName }) => fileName === name))
  }
  for (const module of modules) {
    visit(chunks.find(({ moduleIds }) => moduleIds.some((id) => id.endsWith(`/src/${module}`))))
  }
  return [...found]
}
