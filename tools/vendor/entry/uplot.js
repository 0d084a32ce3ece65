export { default as UPlot } from "uplot";
