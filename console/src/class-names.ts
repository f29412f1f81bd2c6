import { clsx } from 'clsx'

/** Joins class names. Where two contradict each other Tailwind's own order decides: one that must win ends in `!`. */
export const classNames = clsx
