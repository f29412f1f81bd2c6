import { existsSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import { NotFoundError } from '../base/errors.ts'
import type { App } from './app.ts'

const commandLinePath = '/downloads/berth-cli.tgz'
/** Where `npm run build` writes the package of the command line */
const builtPackage = fileURLToPath(new URL('../../../cli/berth-cli.tgz', import.meta.url))

/** The JSON Schema of the file of `berth apply`, which editors load */
const schemaName = 'berth.schema.json'
const schemaFolder = fileURLToPath(new URL('../../../cli', import.meta.url))

/** The command that installs the command line from this server. */
export function describeInstallation(publicUrl: URL): string {
  return `npm install --global ${publicUrl.origin}${commandLinePath}`
}

/** Serves the package of the command line, with a 404 if it isn't built, and the schema of its file. */
export async function serveDownloads(app: App, file = builtPackage): Promise<void> {
  await app.register(async (downloads: App) => {
    await downloads.register(fastifyStatic, { root: dirname(file), serve: false })
    downloads.get(`/downloads/${schemaName}`, { schema: { hide: true } }, (_request, reply) =>
      reply.sendFile(schemaName, schemaFolder),
    )
    downloads.get(commandLinePath, { schema: { hide: true } }, (_request, reply) => {
      if (!existsSync(file)) {
        throw new NotFoundError(
          'This server has no package of the command line. Its operator adds it with `npm run build`.',
        )
      }
      return reply.sendFile(basename(file))
    })
  })
}
