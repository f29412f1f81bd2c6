/** Without a shared disk, an unfinished upload stays on the server that received its bytes. */

import { randomUUID } from 'node:crypto'
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ApplicationError } from '../../../base/errors.ts'
import { locateModelFolder } from '../../../base/model-files.ts'
import type { Services } from '../../../services.ts'
import type { ModelUpload } from './write-lease.ts'

type Deps = Pick<Services, 'config'>

/** Identifies the folder of this server, which processes may share; null if all servers share one. */
export async function readFolderId({ config: { uploads, dataDirectory } }: Deps): Promise<string | null> {
  if (uploads.store === null) return null
  const folder = locateModelFolder(dataDirectory)
  const path = join(folder, 'folder-id')
  return readFile(path, 'utf8').catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const id = randomUUID()
    const draft = `${path}.${id}`
    await writeFile(draft, id, { flush: true })
    // The id of another process wins.
    await link(draft, path).catch(() => {})
    await rm(draft)
    return readFile(path, 'utf8')
  })
}

/** True unless the bytes of an upload are in the folder of another server. */
export function isHere({ folder }: ModelUpload, ownFolder: string | null): boolean {
  return folder === null || ownFolder === null || folder === ownFolder
}

/** Throws `upload_elsewhere` if the bytes of an upload are in the folder of another server. */
export function assertHere(upload: ModelUpload, ownFolder: string | null): void {
  if (isHere(upload, ownFolder)) return
  const message =
    'Another server has the bytes of this upload. Repeat the request, which may then reach that server. If this happens often, the ' +
    'operator must send all requests of an upload to the same server. If that server is gone, remove the upload and start again.'
  throw new ApplicationError('upload_elsewhere', message)
}
