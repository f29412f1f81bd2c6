import { z } from 'zod'
import { commaList, oneOf, webAddress, wholeNumber } from './values.ts'

/** The settings of the inference routes. */
export interface InferenceConfig {
  /** Maximum request body on the inference routes, in bytes */
  inferenceBodyLimit: number
  /** Lowercase hosts from which engines may fetch the images, audio and video of a request */
  mediaDomains: ReadonlySet<string>
  /** Whether requests for embeddings may hold token ids of the model's own tokenizer */
  allowsTokenIds: boolean
  inference: {
    /**
     * Milliseconds to connect to an engine, to the first byte of its response, and between two pieces of the
     * response
     */
    timeouts: { connect: number; firstByte: number; idle: number }
    /**
     * Most requests in flight. Up to `queued` more per deployment wait for `queueMilliseconds`, then get a
     * 429. Those that wait for their turn at a shared deployment get it after `turnMilliseconds`.
     */
    limits: {
      perUser: number
      perDeployment: number
      queued: number
      queueMilliseconds: number
      turnMilliseconds: number
    }
    /**
     * Where requests go that several deployments can serve: conversations where their prefix is, or all where
     * the fewest are in flight
     */
    routing: 'prefix' | 'least_busy'
    /** How long a request may wait for a sleeping deployment, unless it says so itself */
    wakeMilliseconds: number
    /** Most bytes of request bodies in the memory of a process. Above them, callers get a 429. */
    bodies: { perUser: number; perProcess: number }
    /** Base address of an OpenTelemetry collector; null disables traces */
    tracesEndpoint: URL | null
  }
}

const mebibyte = 1024 * 1024

/** The gateway compares hosts, so a domain doesn't cover the domains below it. */
const mediaDomain = z
  .string()
  .toLowerCase()
  .regex(
    /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/,
    'must be hosts such as upload.wikimedia.org, without a scheme, a port or *',
  )

const bodyLimits = { fallback: 32 * mebibyte, smallest: 1024, largest: 512 * mebibyte }

/** A tebibyte */
const maxBodyBytes = 2 ** 40

export const inferenceSettings = {
  INFERENCE_MEDIA_DOMAINS: commaList.pipe(z.array(mediaDomain)).default([]),
  EMBEDDING_TOKEN_IDS: oneOf(['refused', 'allowed']).default('refused'),
  INFERENCE_BODY_LIMIT: wholeNumber(bodyLimits.smallest, bodyLimits.largest).default(bodyLimits.fallback),
  INFERENCE_MAX_BODY_BYTES_PER_USER: wholeNumber(bodyLimits.smallest, maxBodyBytes).optional(),
  INFERENCE_MAX_BODY_BYTES_PER_PROCESS: wholeNumber(bodyLimits.smallest, maxBodyBytes).optional(),
  INFERENCE_CONNECT_TIMEOUT_MS: wholeNumber(1, 600_000).default(5_000),
  INFERENCE_FIRST_BYTE_TIMEOUT_MS: wholeNumber(1, 86_400_000).default(300_000),
  INFERENCE_IDLE_TIMEOUT_MS: wholeNumber(1, 86_400_000).default(120_000),
  OTEL_EXPORTER_OTLP_ENDPOINT: webAddress('http://localhost:4318').optional(),
  INFERENCE_MAX_IN_FLIGHT_PER_USER: wholeNumber(1, 1_000_000).default(4_096),
  INFERENCE_MAX_IN_FLIGHT_PER_DEPLOYMENT: wholeNumber(1, 1_000_000).default(2_048),
  INFERENCE_MAX_QUEUED_PER_DEPLOYMENT: wholeNumber(0, 100_000).default(128),
  INFERENCE_QUEUE_TIMEOUT_MS: wholeNumber(1, 600_000).default(5_000),
  INFERENCE_ROUTING: oneOf(['prefix', 'least_busy']).default('least_busy'),
  WAKE_PATIENCE: wholeNumber(0, 86_400).default(600),
}

type InferenceSettings = z.output<z.ZodObject<typeof inferenceSettings>>

export function readInference(settings: InferenceSettings, problems: string[]): InferenceConfig {
  return {
    inferenceBodyLimit: settings.INFERENCE_BODY_LIMIT,
    mediaDomains: new Set(settings.INFERENCE_MEDIA_DOMAINS),
    allowsTokenIds: settings.EMBEDDING_TOKEN_IDS === 'allowed',
    inference: {
      timeouts: {
        connect: settings.INFERENCE_CONNECT_TIMEOUT_MS,
        firstByte: settings.INFERENCE_FIRST_BYTE_TIMEOUT_MS,
        idle: settings.INFERENCE_IDLE_TIMEOUT_MS,
      },
      limits: {
        perUser: settings.INFERENCE_MAX_IN_FLIGHT_PER_USER,
        perDeployment: settings.INFERENCE_MAX_IN_FLIGHT_PER_DEPLOYMENT,
        queued: settings.INFERENCE_MAX_QUEUED_PER_DEPLOYMENT,
        queueMilliseconds: settings.INFERENCE_QUEUE_TIMEOUT_MS,
        turnMilliseconds: settings.INFERENCE_FIRST_BYTE_TIMEOUT_MS,
      },
      routing: settings.INFERENCE_ROUTING,
      wakeMilliseconds: settings.WAKE_PATIENCE * 1000,
      bodies: readBodyLimits(settings, problems),
      tracesEndpoint: settings.OTEL_EXPORTER_OTLP_ENDPOINT ?? null,
    },
  }
}

/**
 * Reads the limits of body bytes in flight. Unless set, at least eight bodies of the largest size fit for a
 * user, and sixteen for a process. Adds a sentence to `problems` for each limit that is too small.
 */
function readBodyLimits(
  settings: InferenceSettings,
  problems: string[],
): InferenceConfig['inference']['bodies'] {
  const limit = settings.INFERENCE_BODY_LIMIT
  const perUser = settings.INFERENCE_MAX_BODY_BYTES_PER_USER ?? Math.max(256 * mebibyte, 8 * limit)
  const perProcess = settings.INFERENCE_MAX_BODY_BYTES_PER_PROCESS ?? Math.max(512 * mebibyte, 2 * perUser)
  if (perUser < limit) {
    problems.push(
      `INFERENCE_MAX_BODY_BYTES_PER_USER: must be at least INFERENCE_BODY_LIMIT (${limit}), or no such body is accepted`,
    )
  }
  if (perProcess < perUser) {
    problems.push(
      `INFERENCE_MAX_BODY_BYTES_PER_PROCESS: must be at least INFERENCE_MAX_BODY_BYTES_PER_USER (${perUser}); raise it or lower the other`,
    )
  }
  return { perUser, perProcess }
}
