import { clsx } from 'clsx'

/**
 * Joins class names. Tailwind's own order decides between conflicting classes; append `!` to a class that
 * must win.
 */
export const classNames = clsx
