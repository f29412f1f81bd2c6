/** Time that runs `factor` times as fast since `epoch`, in milliseconds since 1970. */
export interface FastTime {
  factor: number
  epoch: number
}

export function toFastTime(at: number, { factor, epoch }: FastTime): number {
  return epoch + (at - epoch) * factor
}
