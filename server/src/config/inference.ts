import { z } from 'zod'
import { commaList, duration, oneOf, size, webAddress, wholeNumber } from './values.ts'

/** The settings of the inference routes. */
export interface InferenceConfig {
  /** Maximum request body on the inference routes, in bytes */
  inferenceBodyLimit: number
  /** Lowercase hosts of the images, audio and video that engines may fetch for a request */
  mediaDomains: ReadonlySet<string>
  /** How long the hours of statistics are kept, in milliseconds */
  statisticsRetentionMilliseconds: number
  /** How long requests are logged, in milliseconds; null if none are */
  requestLogMilliseconds: number | null
  inference: {
    /** Milliseconds to connect to an engine, to the first byte of its response, and between two pieces */
    timeouts: { connect: number; firstByte: number; idle: number }
    /** Limits on requests in flight and on those that wait, in each process */
    limits: {
      /** Most requests in flight of a user */
      perUser: number
      /** Most requests in flight at an instance. The sequences of its engine limit them too. */
      perInstance: number
      /** Most requests of a user that wait for one deployment beyond these limits. Further ones get a 429. */
      queuedPerUser: number
      /** How long they wait until they get a 429 */
      queueMilliseconds: number
      /** How long a request waits for its turn at a shared deployment until it gets a 429 */
      turnMilliseconds: number
    }
    /** Of several deployments: a conversation goes to that with its prefix, or all to the least busy. */
    routing: 'prefix' | 'least_busy'
    /** How long a request may wait for a sleeping deployment, unless it says so itself */
    wakeMilliseconds: number
    /** Most bytes of request bodies in the memory of a process. Above them, callers get a 429. */
    bodies: { perUser: number; perProcess: number }
    /** Base address of an OpenTelemetry collector; null disables traces */
    tracesEndpoint: URL | null
  }
}

const mebibyte = 2 ** 20

/** The gateway compares hosts, so a domain doesn't cover the domains below it. */
const mediaDomain = z
  .string()
  .toLowerCase()
  .regex(
    /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/,
    'must be hosts such as upload.wikimedia.org, without a scheme, a port or *',
  )

export const inferenceSettings = {
  INFERENCE_MEDIA_DOMAINS: commaList.pipe(z.array(mediaDomain)).default([]),
  INFERENCE_BODY_LIMIT: size({ least: '1KiB', most: '512MiB', plain: 'b' }).prefault('32MiB'),
  INFERENCE_FIRST_BYTE_TIMEOUT: duration({ least: '1s', most: '1d' }).prefault('5m'),
  INFERENCE_MAX_IN_FLIGHT_PER_USER: wholeNumber(1, 1_000_000).default(4_096),
  INFERENCE_ROUTING: oneOf(['prefix', 'least_busy']).default('prefix'),
  WAKE_PATIENCE: duration({ least: '0s', most: '1d', plain: 's' }).prefault('10m'),
  STATISTICS_RETENTION: duration({ least: '1d', most: '36500d' }).prefault('90d'),
  REQUEST_LOG_RETENTION: z
    .union(
      [oneOf(['off']), duration({ least: '1h', most: '365d' })],
      'must be a duration such as 30s, 5m, 8h or 7d, from 1h to 365d, or off',
    )
    .prefault('7d'),
  OTEL_EXPORTER_OTLP_ENDPOINT: webAddress('http://localhost:4318').optional(),
}

export function readInference(settings: z.output<z.ZodObject<typeof inferenceSettings>>): InferenceConfig {
  const { INFERENCE_BODY_LIMIT: bodyLimit, INFERENCE_FIRST_BYTE_TIMEOUT: firstByte } = settings
  const bodiesPerUser = Math.max(256 * mebibyte, 8 * bodyLimit)
  return {
    inferenceBodyLimit: bodyLimit,
    mediaDomains: new Set(settings.INFERENCE_MEDIA_DOMAINS),
    statisticsRetentionMilliseconds: settings.STATISTICS_RETENTION,
    requestLogMilliseconds: settings.REQUEST_LOG_RETENTION === 'off' ? null : settings.REQUEST_LOG_RETENTION,
    inference: {
      timeouts: { connect: 5_000, firstByte, idle: 120_000 },
      limits: {
        perUser: settings.INFERENCE_MAX_IN_FLIGHT_PER_USER,
        perInstance: 2_048,
        queuedPerUser: 128,
        queueMilliseconds: 5_000,
        turnMilliseconds: firstByte,
      },
      routing: settings.INFERENCE_ROUTING,
      wakeMilliseconds: settings.WAKE_PATIENCE,
      bodies: { perUser: bodiesPerUser, perProcess: 2 * bodiesPerUser },
      tracesEndpoint: settings.OTEL_EXPORTER_OTLP_ENDPOINT ?? null,
    },
  }
}
