import { readFileSync } from 'node:fs'
import type { Plugin, Rolldown } from 'vite'
import { readFirstViews } from './read-first-views.ts'
import type { FirstView } from './read-first-views.ts'
import { common } from './src/text/common.ts'

type Output = Rolldown.OutputBundle[string]

/**
 * Writes the files of the first views: a static frame, visible before any code has loaded, and preloads of
 * the view's code.
 */
export function writeFirstViews(): Plugin {
  return {
    name: 'write-first-views',
    apply: 'build',
    enforce: 'post',
    async generateBundle(_options, bundle) {
      const page = bundle['index.html']
      if (page?.type !== 'asset') throw new Error('The bundle has no index.html.')
      // The style sheet has priority, because the frame needs it.
      const html = String(page.source).replaceAll('<script async', '<script async fetchpriority="low"')
      const outputs = Object.values(bundle)
      const declares = (id: string, component: string) =>
        id.includes('/src/') && this.getModuleInfo(id)?.exports?.includes(component) === true
      for (const view of await readFirstViews()) {
        const files = findFiles(outputs, (id) => view.components.some((name) => declares(id, name)))
        const source = writeFirstView(html, view, [...files], outputs)
        if (view.fileName === 'index.html') page.source = source
        else this.emitFile({ type: 'asset', fileName: view.fileName, source })
      }
    },
  }
}

function writeFirstView(html: string, view: FirstView, files: string[], outputs: Output[]): string {
  const { frame, heading, requests, requestsWithoutSearch } = view
  const font = outputs.find(({ fileName }) => fileName.includes('/geist-latin-wght-normal'))
  const links = [
    `  <link rel="preload" as="font" type="font/woff2" crossorigin href="/${font?.fileName}">\n`,
    ...files
      .filter((file) => !html.includes(file))
      .map((file) => `  <link rel="modulepreload" fetchpriority="low" crossorigin href="/${file}">\n`),
  ]
  const readFrame = (name: string) => readFileSync(new URL(`frames/${name}.html`, import.meta.url), 'utf8')
  const attributes = {
    'data-session': frame === 'visitor' ? 'none' : '',
    // src/api/early.ts sends these.
    'data-requests': requests.join(' '),
    'data-requests-without-search': requestsWithoutSearch.join(' '),
  }
  const page = html
    .replace('</head>', `${links.join('')}</head>`)
    .replace('<html', `<html${writeAttributes(attributes)}`)
    .replace('<div id="root">', `<div id="root">${readFrame(frame)}`)
    .replace('<!-- heading -->', () => readFrame(heading ? 'heading' : 'heading-skeleton'))
  if (!heading) return page
  return page
    .replaceAll('{title}', heading.title)
    .replaceAll('{description}', heading.description ?? '')
    .replace(/<title>.*<\/title>/, `<title>${heading.title} · ${common.product}</title>`)
}

function writeAttributes(attributes: Record<string, string>): string {
  return Object.entries(attributes)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => ` ${name}="${value.replaceAll('&', '&amp;')}"`)
    .join('')
}

/** The files with the modules that match, and of all that they import. */
function findFiles(outputs: Output[], matches: (moduleId: string) => boolean): Set<string> {
  const chunks = outputs.filter((output) => output.type === 'chunk')
  const found = new Set<string>()
  const visit = (chunk: (typeof chunks)[number] | undefined) => {
    if (!chunk || found.has(chunk.fileName)) return
    found.add(chunk.fileName)
    for (const name of chunk.imports) visit(chunks.find(({ fileName }) => fileName === name))
  }
  for (const chunk of chunks.filter(({ moduleIds }) => moduleIds.some(matches))) visit(chunk)
  return found
}
