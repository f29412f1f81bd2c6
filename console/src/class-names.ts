import { clsx } from 'clsx'

/** Joins class names. Tailwind's order decides conflicts; append `!` to a class that must win. */
export const classNames = clsx
