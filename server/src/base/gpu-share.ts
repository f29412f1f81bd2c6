/** The most shares that a GPU is offered in */
export const maxShares = 16

/** A share of a GPU has its own instance type: `l4-x1/4` has a quarter of the memory of `l4-x1`. */
export interface GpuShare {
  /** The instance type with the whole GPU */
  whole: string
  /** Into how many shares the GPU is divided, from 2 to 16 */
  parts: number
}

export function nameShare({ whole, parts }: GpuShare): string {
  return `${whole}/${parts}`
}

/** Reads the name of an instance type; null if it is no share. */
export function parseShare(instanceType: string): GpuShare | null {
  const [, whole, digits] = /^([^/]+)\/([1-9]\d?)$/.exec(instanceType) ?? []
  const parts = Number(digits)
  return whole === undefined || parts < 2 || parts > maxShares ? null : { whole, parts }
}
