// Runs Berth without a part: `node --import file:///…/replace.ts?client` replaces a module of the server.
import { registerHooks } from 'node:module'

const parts: Readonly<Record<string, [replaced: string, replacement: string]>> = {
  '?client': ['gateway/upstream-client/connection.ts', './undici-connection.ts'],
  '?fast-path': ['http/fast-path.ts', './no-fast-path.ts'],
}
const [replaced, replacement] = parts[new URL(import.meta.url).search]!
const from = new URL(`../../server/src/${replaced}`, import.meta.url).href

registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context)
    return resolved.url === from ? { ...resolved, url: new URL(replacement, import.meta.url).href } : resolved
  },
})
