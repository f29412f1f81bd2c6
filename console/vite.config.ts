import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin, type Rolldown } from 'vite'

/** The server that `npm run dev --workspace console` proxies to. */
const serverUrl = process.env.BERTH_URL ?? 'http://127.0.0.1:8080'

/** The modules of the first view for a member with a session and for a visitor without one. */
const firstViews = {
  member: ['shell/app-shell.tsx', 'features/deployments/deployments-page.tsx'],
  visitor: ['features/auth/sign-in-page.tsx'],
}

export default defineConfig({
  plugins: [react(), tailwindcss(), writePages(), precompress()],
  // The server replaces this placeholder with the nonce of each response.
  html: { cspNonce: '__CSP_NONCE__' },
  resolve: {
    alias: {
      // Its browser build parses KaTeX's HTML in the document, where the content security policy reports every inline style.
      'hast-util-from-html-isomorphic': fileURLToPath(import.meta.resolve('hast-util-from-html-isomorphic')),
    },
  },
  build: {
    target: 'es2024',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        // Each group includes its imports: code of every page, of the deployments list, of most auth pages, and other shared code.
        // Many small files would compress worse and need more requests.
        codeSplitting: {
          groups: [
            { name: 'early', test: /console.src.api.early/ },
            {
              name: 'core',
              test: /console.src.(main|components.(form|field|wordmark))|react-query.+(useQuery|useMutation)\./,
            },
            { name: 'list', test: new RegExp(firstViews.member.join('|')) },
            { name: 'auth', test: /console.src.features.auth.(?!invitation|complete|verify)/ },
            {
              name: 'shared',
              test: /console.src.(api|components|domain|routing|shell|class-names|format)/,
              minShareCount: 3,
            },
          ],
        },
      },
    },
  },
  server: {
    proxy: Object.fromEntries(
      ['/v1', '/api', '/docs', '/redoc', '/openapi.json', '/sandbox'].map((path) => [
        path,
        // Keeps the browser's Host, because the server compares it with Origin.
        { target: serverUrl, changeOrigin: false },
      ]),
    ),
  },
})

/**
 * Writes two pages: index.html for browsers with a session cookie and visitor.html for others. Each contains a static frame of its first
 * view, which is visible before any code has loaded, and preloads the code of that view.
 */
function writePages(): Plugin {
  return {
    name: 'write-pages',
    apply: 'build',
    enforce: 'post',
    generateBundle(_options, bundle) {
      const page = bundle['index.html']
      if (page?.type !== 'asset') throw new Error('The bundle has no index.html.')
      // The style sheet has priority, because the frame needs it.
      const html = String(page.source).replaceAll('<script async', '<script async fetchpriority="low"')
      const write = (view: keyof typeof firstViews) => {
        const frame = readFileSync(new URL(`frames/${view}.html`, import.meta.url), 'utf8')
        const files = findFiles(Object.values(bundle), firstViews[view]).filter(
          (file) => !html.includes(file),
        )
        const links = files.map(
          (file) => `<link rel="modulepreload" fetchpriority="low" crossorigin href="/${file}">`,
        )
        return html
          .replace('</head>', `${links.map((link) => `  ${link}\n`).join('')}</head>`)
          .replace('<div id="root">', `<div id="root">${frame}`)
      }
      this.emitFile({
        type: 'asset',
        fileName: 'visitor.html',
        source: write('visitor').replace('<html', '<html data-session="none"'),
      })
      page.source = write('member')
    },
  }
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

/** Writes a .br and a .gz file for every compressible asset, which the server sends as is. */
function precompress(): Plugin {
  return {
    name: 'precompress',
    apply: 'build',
    generateBundle: {
      order: 'post',
      handler(_options, bundle) {
        for (const output of Object.values(bundle)) {
          if (!/^assets\/.*\.(js|css|svg)$/.test(output.fileName)) continue
          const bytes = Buffer.from(output.type === 'chunk' ? output.code : output.source)
          const quality = { [constants.BROTLI_PARAM_QUALITY]: 11 }
          const brotli = brotliCompressSync(bytes, { params: quality })
          this.emitFile({ type: 'asset', fileName: `${output.fileName}.br`, source: brotli })
          this.emitFile({
            type: 'asset',
            fileName: `${output.fileName}.gz`,
            source: gzipSync(bytes, { level: 9 }),
          })
        }
      },
    },
  }
}
