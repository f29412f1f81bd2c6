const mebibyte = 1024 * 1024

interface BodySettings {
  INFERENCE_BODY_LIMIT: number
  INFERENCE_MAX_BODY_BYTES_PER_USER?: number | undefined
  INFERENCE_MAX_BODY_BYTES_PER_PROCESS?: number | undefined
}

/**
 * Reads the limits of body bytes in flight. Unless set, at least eight bodies of the largest size fit for a user, and sixteen for a
 * process. Adds a sentence to `problems` for each limit that is too small.
 */
export function readBodyLimits(
  settings: BodySettings,
  problems: string[],
): { perUser: number; perProcess: number } {
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
