// The time zone of this device, as the server takes it.

/** Returns an offset from UTC in minutes as `+02:00`. */
export function utcOffset(ahead: number) {
  const two = (n: number) => String(Math.trunc(n)).padStart(2, "0");
  return `${ahead < 0 ? "-" : "+"}${two(Math.abs(ahead) / 60)}:${two(Math.abs(ahead) % 60)}`;
}

/** Returns the offset from UTC of this device now. */
export const ownUtcOffset = () => utcOffset(-new Date().getTimezoneOffset());
