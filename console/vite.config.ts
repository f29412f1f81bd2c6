import { readFileSync } from 'node:fs'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin, type Rolldown } from 'vite'

/** Where `npm run dev --workspace console` finds a running server. */
const serverUrl = process.env.BERTH_URL ?? 'http://127.0.0.1:8080'

/** The modules of the first view of whoever has a session, and of a visitor without one. */
const firstViews = {
  member: ['shell/app-shell.tsx', 'features/deployments/deployments-page.tsx'],
  visitor: ['features/auth/sign-in-page.tsx'],
}

export default defineConfig({
  plugins: [react(), tailwindcss(), writePages(), precompress()],
  // The server puts the nonce of each answer in the place of this word.
  html: { cspNonce: '__CSP_NONCE__' },
  build: {
    target: 'es2024',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        // With what each imports: what every page needs, what the list of deployments does, what most auth pages do, and the rest where
        // many pages share it. Small files compress badly, and each costs a request.
        codeSplitting: {
          groups: [
            { name: 'early', test: /console.src.api.early/ },
            {
              name: 'core',
              test: /console.src.(main|components.(form|field|wordmark))|react-query.+(useQuery|useMutation)\./,
            },
            { name: 'list', test: new RegExp(firstViews.member.join('|')) },
            { name: 'auth', test: /console.src.features.auth.(?!invitation|complete)/ },
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
        // Origin and Host stay the browser's, so that the server's own-host rule lets the requests through.
        { target: serverUrl, changeOrigin: false },
      ]),
    ),
  },
})

/**
 * Makes two pages of index.html, one for whoever may have a session and visitor.html, each with the frame of its first view, which
 * is in sight before any code is there, and with its code fetched beside the rest.
 */
function writePages(): Plugin {
  return {
    name: 'write-pages',
    apply: 'build',
    enforce: 'post',
    generateBundle(_options, bundle) {
      const page = bundle['index.html']
      if (page?.type !== 'asset') throw new Error('There is no index.html.')
      // The style sheet comes first: with it the frame can be shown.
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

/** The files of these modules and of all that they import. */
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

/** Writes .br and .gz beside every asset that compresses, for the server to send as they are. */
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
