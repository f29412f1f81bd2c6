import { z } from 'zod'
import { createRedirectLookup } from '../../base/outgoing-addresses.ts'
import { openProxyAgent } from '../../base/proxy.ts'
import type { ProxySettings } from '../../config/proxy.ts'
import { ModelHubError } from '../../ports/model-hub.ts'
import type { HubFile, HubRepository, HubSession, ModelHub } from '../../ports/model-hub.ts'
import { openRequests } from './requests.ts'

export interface HuggingFaceSettings {
  /** `HF_ENDPOINT` */
  endpoint: string
  /** Proxies as `http://host:port`, and comma-separated hosts to reach directly */
  proxy?: ProxySettings | undefined
  /** Milliseconds that all requests of a session may take; default 60 s */
  sessionTimeoutMs?: number | undefined
}

/** A repository with 10,000 files needs about 2 MiB. */
const maxDescriptionBytes = 4 * 2 ** 20
const defaultSessionTimeoutMs = 60_000

const text = z.string().max(500)
const descriptionSchema = z.object({
  id: text.optional(),
  sha: z.string().regex(/^[0-9a-f]{40}$/),
  gated: z.union([z.boolean(), z.string()]).default(false),
  pipeline_tag: text.nullish(),
  cardData: z.object({ license: z.union([text, z.array(text)]).nullish() }).nullish(),
  siblings: z.array(z.object({ rfilename: z.string().max(1000), size: z.int().min(0).nullish() })),
})

/** Creates the client of a hub that speaks Hugging Face's protocol. */
export function createHuggingFaceHub(settings: HuggingFaceSettings): ModelHub {
  const endpoint = settings.endpoint.replace(/\/+$/, '')
  const dispatcher = openProxyAgent(settings.proxy, {
    headersTimeout: 15_000,
    bodyTimeout: 15_000,
    connect: { timeout: 10_000, lookup: createRedirectLookup(new URL(endpoint)) },
  })
  return {
    host: new URL(endpoint).host,
    open(token): HubSession {
      const signal = AbortSignal.timeout(settings.sessionTimeoutMs ?? defaultSessionTimeoutMs)
      const requests = openRequests({ endpoint: new URL(endpoint), token, dispatcher, signal })
      return {
        describe: async (name, revision) => {
          const url = `${endpoint}/api/models/${toPath(name)}/revision/${encodeURIComponent(revision)}?blobs=true`
          return toRepository(name, await requests.fetchAll(url, name, maxDescriptionBytes))
        },
        read: (repository, file, start, end) =>
          requests.fetchRange(
            locateFile(endpoint, repository, file),
            `${repository.name}/${file.path}`,
            start,
            end,
          ),
      }
    },
    close: () => dispatcher.destroy(),
  }
}

function locateFile(endpoint: string, { name, commit }: HubRepository, { path }: HubFile): string {
  return `${endpoint}/${toPath(name)}/resolve/${commit}/${toPath(path)}`
}

function toPath(name: string): string {
  return name.split('/').map(encodeURIComponent).join('/')
}

function toRepository(name: string, body: Uint8Array): HubRepository {
  const described = descriptionSchema.safeParse(parse(body))
  if (!described.success) {
    throw new ModelHubError('invalid', `The hub describes ${name} without a commit and a list of files.`)
  }
  const { id = name, sha, gated, pipeline_tag: task = null, cardData, siblings } = described.data
  const impossible = siblings.find(({ rfilename }) => !isPlainPath(rfilename))
  if (impossible !== undefined) {
    const path = JSON.stringify(impossible.rfilename.slice(0, 100))
    throw new ModelHubError('invalid', `${name} has a file with an impossible path: ${path}.`)
  }
  const license = cardData?.license ?? null
  return {
    name: id,
    commit: sha,
    isGated: gated !== false,
    license: Array.isArray(license) ? license.join(', ') : license,
    task,
    files: siblings.flatMap(({ rfilename, size }) =>
      size === undefined || size === null ? [] : [{ path: rfilename, bytes: size }],
    ),
  }
}

/** True for a path that stays inside the repository, on the hub and on every disk. */
function isPlainPath(path: string): boolean {
  return path.isWellFormed() && path.split('/').every((segment) => !/^\.{0,2}$|[\\\0]/.test(segment))
}

function parse(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString()) as unknown
  } catch {
    return null
  }
}
