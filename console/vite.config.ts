import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

/** Where `npm run dev --workspace console` finds a running server. */
const serverUrl = process.env.BERTH_URL ?? 'http://127.0.0.1:8080'

export default defineConfig({
  plugins: [react(), tailwindcss(), precompress()],
  // The server puts the nonce of each answer in the place of this word.
  html: { cspNonce: '__CSP_NONCE__' },
  build: {
    target: 'es2024',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        // What many pages need in one file: small ones compress badly.
        codeSplitting: {
          groups: [
            {
              name: 'shared',
              test: /console.src.(api|components|shell|class-names|format)/,
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
