import { clsx, type ClassValue } from 'clsx'
import { twMerge } from 'tailwind-merge'

/** Joins class names; of Tailwind classes that contradict each other the last one holds. */
export function classNames(...values: ClassValue[]): string {
  return twMerge(clsx(values))
}
