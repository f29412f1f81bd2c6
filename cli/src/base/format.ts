/** A size in billions of parameters, as in `0.5B`. */
export function formatSize(billions: number): string {
  return billions === 0 ? 'unknown' : `${billions}B`
}

/** A variant, as in `0.5B ggufv2 Q4_K_M`; only the format of a model whose weights are unknown. */
export function formatVariant({
  model_size_in_billions: size,
  model_format: format,
  quantization,
}: {
  model_size_in_billions: number
  model_format: string
  quantization: string
}): string {
  return size === 0 ? format : `${formatSize(size)} ${format} ${quantization}`
}

/** The time since an ISO timestamp, in its largest unit, as in `3h`. */
export function formatAge(timestamp: string): string {
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(timestamp)) / 1000))
  if (seconds < 60) return `${seconds}s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h`
  return `${Math.floor(seconds / 86_400)}d`
}

/** A number of bytes, as in `1.5 GiB`. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), units.length - 1)
  const value = bytes / 2 ** (10 * power)
  return `${value.toFixed(value < 10 && power > 0 ? 1 : 0)} ${units[power]}`
}
