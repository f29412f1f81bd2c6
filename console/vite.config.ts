import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { dictionary } from '@zxcvbn-ts/language-common'
import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import type { Plugin } from 'vite'
import { writeFirstViews } from './first-views.ts'

/** The server that `npm run dev --workspace console` proxies to. */
const serverUrl = process.env.BERTH_URL ?? 'http://127.0.0.1:8080'

export default defineConfig({
  plugins: [react(), tailwindcss(), writeFirstViews(), listCommonPasswords(), shortenIcons(), precompress()],
  // The server replaces this placeholder with the nonce of each response.
  html: { cspNonce: '__CSP_NONCE__' },
  resolve: {
    alias: [
      {
        // Its browser build parses KaTeX's HTML in the document, where the content security policy reports
        // every inline style.
        find: 'hast-util-from-html-isomorphic',
        replacement: fileURLToPath(import.meta.resolve('hast-util-from-html-isomorphic')),
      },
      // Icons import Lucide's own function by this path.
      {
        find: '../createLucideIcon.mjs',
        replacement: fileURLToPath(new URL('src/components/lucide-icon.ts', import.meta.url)),
      },
      // The shim is for versions of React without this hook.
      { find: /^use-sync-external-store\/shim$/, replacement: 'react' },
    ],
  },
  build: {
    target: 'es2024',
    assetsInlineLimit: 0,
    modulePreload: {
      polyfill: false,
      resolveDependencies: (_file, deps) => deps.filter((one) => one.endsWith('.css')),
    },
    rolldownOptions: {
      output: {
        // Each group includes its imports: code of every page, forms, the first views of members and
        // visitors, and code of dialogs, menus and messages. Many small files would compress worse and need
        // more requests.
        codeSplitting: {
          groups: [
            { name: 'early', test: /console.src.api.early/ },
            {
              name: 'core',
              test: /console.src.(main|domain.installation|components.(field|wordmark))|react-query.+(useQuery|useMutation)\.|react-router.+useLocation\.|icons.x\./,
            },
            { name: 'form', test: /console.src.components.(form|paging)/ },
            {
              name: 'shell',
              test: /console.src.(shell.app-shell|components.(table|segmented-control|loaded)|domain.deployments.status-badge)/,
            },
            { name: 'code', test: /console.src.components.(code-block|copy-button)/ },
            { name: 'icons', test: /lucide-react.+icons.(plus|sliders-horizontal|code-xml)\./ },
            {
              name: 'password',
              test: /console.src.domain.(session.(password-field|sign-in-methods)|second-factors.passkeys)/,
            },
            { name: 'names', test: /console.src.domain.deployments.names/ },
            { name: 'playground', test: /console.src.features.playground.playground-page/ },
            { name: 'event-stream', test: /console.src.api.use-event-stream/ },
            { name: 'news', test: /console.src.(shell.news.(news|use-news)\.|domain.notifications)/ },
            { name: 'sign-in', test: /console.src.features.auth.sign-in-page/ },
            {
              name: 'overlays',
              test: /console.src.(components.(dialog|menu-content|toast-list)|shell.drawer)/,
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
 * Provides `virtual:common-passwords`: the passwords that the server rejects with PASSWORD_BLOCKLIST=on, a
 * tenth of the package's.
 */
function listCommonPasswords(): Plugin {
  const name = 'virtual:common-passwords'
  return {
    name,
    resolveId: (id) => (id === name ? `\0${name}` : null),
    load(id) {
      if (id !== `\0${name}`) return null
      const passwords = dictionary['passwords-common'].filter(({ length }) => length >= 8).slice(0, 3_000)
      return `export const commonPasswords = new Set(${JSON.stringify(passwords.join(' '))}.split(' '))`
    },
  }
}

/** Removes what only Lucide's own function reads from the data of icons. */
function shortenIcons(): Plugin {
  return {
    name: 'shorten-icons',
    apply: 'build',
    transform: {
      filter: { id: /lucide-react.+icons/ },
      handler: (code) =>
        code.replaceAll(
          /,\s*(key: "\w+"|aliases: \[[^\]]*\])|name: "[\w-]+",\s*size: 24,|^__iconData\.node;$/gm,
          '',
        ),
    },
  }
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
