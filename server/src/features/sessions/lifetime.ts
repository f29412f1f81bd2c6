const day = 24 * 3_600_000

/** A session that is not used ends after 7 days. In milliseconds. */
export const lifetime = 7 * day

/** A session ends 30 days after its start, unless an identity provider sets another limit. In milliseconds. */
export const maxLifetime = 30 * day
