package driver;

/** One program of an application: returns what that application observed, as maps, lists, strings and numbers. */
@FunctionalInterface
interface Scenario {
    Object run(Context context) throws Exception;
}
